set $word="never ends
define fileset name=f,path=$dir,entries=1,dirwidth=1
run 1
