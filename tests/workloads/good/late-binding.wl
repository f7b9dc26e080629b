# A definition is read where it is used: what counts is the value at create and at run, as in filebench.

set $nthreads=1
set $nfiles=1
set $iosize=1k

define fileset name=set1,path=$dir,entries=$nfiles,dirwidth=10,prealloc,size=$iosize
define process name=p
{
  thread name=t,instances=$nthreads
  {
    flowop read name=r,filesetname=set1,iosize=$iosize
  }
}

set $nfiles=7
create files
set $nfiles=8
set $nthreads=3
set $iosize=2k
run 1
