define fileset name=main,path=$dir,entries=10,dirwidth=10
include "flawed.wl"
define process name=p { thread name=t { flowop statfile name=s,filesetname=man } }
run 1
