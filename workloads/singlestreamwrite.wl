# singlestreamwrite: one file written from the start on, without an end
#
# A thread writes $iosize bytes after the other into a new file: the bandwidth of a single sequential writer. Nothing is
# flushed: the page cache takes the writes until it has too much of them.
#
# The file grows as long as the run lasts, by as much as is written: a disk of 1 GB/s needs 60 GB of room. Make $runtime
# shorter (or give --runtime) where there is less. Each of $nthreads begins at the start of the same file. $iosize is
# the size of a request.

## bytes of one request
set $iosize=1m
## threads on the one file
set $nthreads=1
## length of the run, in seconds
set $runtime=60

define file name=largefile1, path=$dir, prealloc

define process name=seqwrite, instances=1
{
  thread name=seqwrite, memsize=10m, instances=$nthreads
  {
    flowop write name=seqwrite, filename=largefile1, iosize=$iosize
  }
}

run $runtime
