# fivestreamreaddirect: five large files, each read from start to end past the page cache, over and over
#
# Each of five readers reads $iosize bytes after the other of its own file with direct I/O, and begins again at the end:
# five sequential streams of one request at a time, without the client's cache and read-ahead.
#
# The files have 1 GiB each as they stand ($filesize); a second run keeps them. $iosize must be a multiple of the block
# size, and the file system must know direct I/O. Each file has $nthreads readers.

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

define process name=seqread, instances=1
{
  thread name=seqread1, memsize=10m, instances=$nthreads
  {
    flowop read name=seqread1, filename=largefile1, iosize=$iosize, directio
  }
  thread name=seqread2, memsize=10m, instances=$nthreads
  {
    flowop read name=seqread2, filename=largefile2, iosize=$iosize, directio
  }
  thread name=seqread3, memsize=10m, instances=$nthreads
  {
    flowop read name=seqread3, filename=largefile3, iosize=$iosize, directio
  }
  thread name=seqread4, memsize=10m, instances=$nthreads
  {
    flowop read name=seqread4, filename=largefile4, iosize=$iosize, directio
  }
  thread name=seqread5, memsize=10m, instances=$nthreads
  {
    flowop read name=seqread5, filename=largefile5, iosize=$iosize, directio
  }
}

run $runtime
