# filemicro_seqwrite: one file written from start to end, once
#
# A thread appends $iosize bytes to an empty file, $count times, and the run is over. It isolates sequential writing;
# the same appends as in filemicro_create, in one round.
#
# The file gets 1 GiB as it stands, $count times $iosize: more than the memory shows the disk, less the cache. With
# `--set sync=true` ($sync) each write waits for stable storage. With more $nthreads the first that is done ends the
# run.

## number of appends that make the file
set $count=1024
## bytes of one append
set $iosize=1m
## threads that append to the file; the first that is done ends the run
set $nthreads=1
## true: each write is on stable storage before the next
set $sync=false

set mode quit firstdone

define file name=bigfile, path=$dir, size=0, prealloc

define process name=filewriter, instances=1
{
  thread name=filewriterthread, memsize=10m, instances=$nthreads
  {
    flowop appendfile name=write-file, dsync=$sync, filename=bigfile, iosize=$iosize, iters=$count
    flowop finishoncount name=finish, value=1
  }
}

run
