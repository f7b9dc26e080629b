# psrun measures in periods; with one number it is the period, and filebench's negative one means the same here.

define fileset name=f,path=$dir,entries=1,dirwidth=1,size=1m,prealloc
define process name=p { thread name=t { flowop read name=r,filesetname=f,iosize=64k } }
psrun -5 20
psrun 5
psrun
