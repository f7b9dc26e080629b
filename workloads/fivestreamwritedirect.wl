# fivestreamwritedirect: five files, each written from the start on past the page cache, without an end
#
# Each of five writers writes $iosize bytes after the other into its own file with direct I/O: five sequential streams
# of one request at a time.
#
# The files have 1 GiB each ($filesize) before the run; the writers write over that first, and go on behind it. So the
# files grow as long as the run lasts: a disk of 1 GB/s needs 60 GB of room. Make $runtime shorter (or give --runtime)
# where there is less. A second run cuts the files to $filesize again. $iosize must be a multiple of the block size, and
# the file system must know direct I/O. Each file has $nthreads writers.

## size of each of the five files, in bytes
set $filesize=1g
## threads on each of the five files
set $nthreads=1
## bytes of one request
set $iosize=1m
## length of the run, in seconds
set $runtime=60

define file name=largefile1, path=$dir, size=$filesize, prealloc, reuse
define file name=largefile2, path=$dir, size=$filesize, prealloc, reuse
define file name=largefile3, path=$dir, size=$filesize, prealloc, reuse
define file name=largefile4, path=$dir, size=$filesize, prealloc, reuse
define file name=largefile5, path=$dir, size=$filesize, prealloc, reuse

define process name=seqwrite, instances=1
{
  thread name=seqwrite1, memsize=10m, instances=$nthreads
  {
    flowop write name=seqwrite1, filename=largefile1, iosize=$iosize, directio
  }
  thread name=seqwrite2, memsize=10m, instances=$nthreads
  {
    flowop write name=seqwrite2, filename=largefile2, iosize=$iosize, directio
  }
  thread name=seqwrite3, memsize=10m, instances=$nthreads
  {
    flowop write name=seqwrite3, filename=largefile3, iosize=$iosize, directio
  }
  thread name=seqwrite4, memsize=10m, instances=$nthreads
  {
    flowop write name=seqwrite4, filename=largefile4, iosize=$iosize, directio
  }
  thread name=seqwrite5, memsize=10m, instances=$nthreads
  {
    flowop write name=seqwrite5, filename=largefile5, iosize=$iosize, directio
  }
}

run $runtime
