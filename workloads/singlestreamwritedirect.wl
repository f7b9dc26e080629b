# singlestreamwritedirect: one file written from the start on past the page cache, without an end
#
# A thread writes $iosize bytes after the other into a new file with direct I/O: the bandwidth of one request at a time,
# each of which extends the file.
#
# The file grows as long as the run lasts, by as much as is written: a disk of 1 GB/s needs 60 GB of room. Make $runtime
# shorter (or give --runtime) where there is less. $iosize must be a multiple of the block size, and the file system
# must know direct I/O. Each of $nthreads begins at the start of the same file.

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
    flowop write name=seqwrite, filename=largefile1, iosize=$iosize, directio
  }
}

run $runtime
