define fileset name=f,path=$dir,entries=1,dirwidth=1
define file name=f,path=$dir,size=1k
define process name=p { thread name=t { flowop statfile name=s,filesetname=f } }
run 1
