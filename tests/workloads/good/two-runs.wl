# Each run takes the variables as they are then; a fileset that is defined between them is made for the second.

set $iosize=4k
define fileset name=first,path=$dir,entries=4,dirwidth=4,size=8k,prealloc
define process name=p
{
  thread name=t { flowop read name=read1,filesetname=first,iosize=$iosize }
}
echo "requests of $iosize"
run 2
set $iosize=8k
define fileset name=second,path=$dir,entries=2,dirwidth=4,size=1k,prealloc
echo "requests of $iosize"
run 3
