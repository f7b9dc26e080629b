# filemicro_create: one file that grows by appends of one size
#
# A thread appends $iosize bytes to an empty file until the run has done $count appends. It isolates the cost of growing
# a file by sequential writes: allocation, and the page cache; with `--set sync=true` each append is on stable storage
# before the next.
#
# The file gets 1 GiB as it stands, $count times $iosize; that fits in memory, so without $sync the figures are those of
# the cache. $nthreads append to the same file, and share the $count.

## number of appends after which the run ends
set $count=1024
## bytes of one append
set $iosize=1m
## threads that append to the file
set $nthreads=1
## true: each write is on stable storage before the next
set $sync=false

set mode quit firstdone

define file name=largefile, path=$dir, size=0, prealloc

define process name=filecreater, instances=1
{
  thread name=filecreaterthread, memsize=10m, instances=$nthreads
  {
    flowop appendfile name=append-file, filename=largefile, dsync=$sync, iosize=$iosize
    flowop finishoncount name=finish, value=$count
  }
}

run
