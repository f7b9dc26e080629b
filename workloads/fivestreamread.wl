# fivestreamread: five large files, each read from start to end by a thread of its own, over and over
#
# Each of five readers reads $iosize bytes after the other of its own file, and begins again at the end. What it shows,
# beside one stream, is whether the storage keeps its bandwidth where it has to go back and forth between streams.
#
# The files have 1 GiB each as they stand; a second run keeps them. Raise $filesize until all five are at least twice
# the memory, or the reads measure this client's cache. Each file has $nthreads readers.

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
    flowop read name=seqread1, filename=largefile1, iosize=$iosize
  }
  thread name=seqread2, memsize=10m, instances=$nthreads
  {
    flowop read name=seqread2, filename=largefile2, iosize=$iosize
  }
  thread name=seqread3, memsize=10m, instances=$nthreads
  {
    flowop read name=seqread3, filename=largefile3, iosize=$iosize
  }
  thread name=seqread4, memsize=10m, instances=$nthreads
  {
    flowop read name=seqread4, filename=largefile4, iosize=$iosize
  }
  thread name=seqread5, memsize=10m, instances=$nthreads
  {
    flowop read name=seqread5, filename=largefile5, iosize=$iosize
  }
}

run $runtime
