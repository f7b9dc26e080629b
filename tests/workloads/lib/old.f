# As filebench 1.4 has them.
set $meansize=16k
define fileset name=old,path=$dir,size=$meansize,entries=10,dirwidth=10,cached=false
define process name=old { thread name=old,memsize=1m { flowop readwholefile name=read,filesetname=old } }
usage "Usage: set \$meansize=<size>"
