# A few files that are looked at, for those that include it.
## Files in the set.
set $nfiles=100
## Threads that look.
set $nthreads=2
set $dirwidth=$nfiles / 2

define fileset name=small,path=$dir,entries=$nfiles,dirwidth=$dirwidth,size=1k,prealloc

define process name=looker
{
  thread name=looker,instances=$nthreads
  {
    flowop statfile name=look,filesetname=small
  }
}

run $runtime
