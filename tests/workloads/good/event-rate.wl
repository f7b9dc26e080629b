# The last rate before the run holds, and may be a variable.

set $eventrate=25
define fileset name=f,path=$dir,entries=1,dirwidth=1,size=1m,prealloc
define process name=p
{
  thread name=t
  {
    flowop read name=r,filesetname=f,iosize=64k,iters=2
    flowop eventlimit name=pace
  }
}
eventgen rate=1000
eventgen rate=$eventrate
run 4
