# filemicro_createrand: one file that grows by appends of random size, with an fsync after each few of them
#
# In a round a thread appends $iters times, each time 1 to $iosize bytes, and then flushes the file. The run ends when
# it has written $bytes. It isolates appends that end in the midst of a block, and the flushing of what came together.
#
# 1 GiB is written as it stands; $bytes makes it shorter or longer. A smaller $iters means more flushes, and `--set
# sync=true` ($sync) makes each append wait for stable storage. $nthreads append to the same file.

## bytes written after which the run ends
set $bytes=1g
## largest append, in bytes
set $iosize=1m
## appends before each fsync
set $iters=10
## threads that append to the file
set $nthreads=1
## true: each append is on stable storage before the next
set $sync=false

set mode quit firstdone

define file name=largefile, path=$dir, size=0, prealloc

define process name=filecreater, instances=1
{
  thread name=filecreaterthread, memsize=10m, instances=$nthreads
  {
    flowop appendfilerand name=append-file, filename=largefile, dsync=$sync, iosize=$iosize,
        iters=$iters
    flowop fsync name=sync
    flowop finishonbytes name=finish, value=$bytes
  }
}

run
