define fileset name=set,path=$dir,entires=10,dirwidth=10
define fileset name=main,path=$dir,entries=10,dirwidth=10
define proces name=x
