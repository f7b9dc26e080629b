# randomwrite: random writes into one large file
#
# A thread writes $iosize bytes at a random place of the file, again and again. Nothing is flushed: the page cache takes
# the writes until it has too much of them, so a short run shows the memory and a long one the disk.
#
# The file has 5 GiB as it stands; a second run keeps it. With `--set directio=1` ($directio; $iosize is then a multiple
# of the block size) each write goes past the cache. $workingset is how much of $filesize is used, from the start of the
# file; 0 is all of it. $nthreads is the number of requests at the same time.

## size of the file, in bytes
set $filesize=5g
## bytes of one request
set $iosize=8k
## threads that do this at the same time
set $nthreads=1
## bytes from the start of the file that are used; 0 is all of it
set $workingset=0
## 1: past the page cache (O_DIRECT)
set $directio=0
## length of the run, in seconds
set $runtime=60

define file name=largefile1, path=$dir, size=$filesize, prealloc, reuse

define process name=rand-write, instances=1
{
  thread name=rand-thread, memsize=5m, instances=$nthreads
  {
    flowop write name=rand-write1, filename=largefile1, iosize=$iosize, random,
        workingset=$workingset, directio=$directio
  }
}

run $runtime
