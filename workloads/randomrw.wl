# randomrw: random reads and random writes of one large file at the same time
#
# One kind of thread reads $iosize bytes at a random place of the file, another kind writes as much, each as fast as it
# can: the mix of reads and writes is what the storage makes of it.
#
# The file has 5 GiB as it stands; a second run keeps it. Raise $filesize to at least twice the memory, or say `--set
# directio=1` ($directio; $iosize is then a multiple of the block size), or the reads measure this client's cache.
# $workingset is how much of the file is used, from its start; 0 is all of it. There are $nthreads of each kind.

## size of the file, in bytes
set $filesize=5g
## bytes of one request
set $iosize=8k
## threads that read, and as many that write
set $nthreads=1
## bytes from the start of the file that are used; 0 is all of it
set $workingset=0
## 1: past the page cache (O_DIRECT)
set $directio=0
## length of the run, in seconds
set $runtime=60

define file name=largefile1, path=$dir, size=$filesize, prealloc, reuse

define process name=rand-rw, instances=1
{
  thread name=rand-r-thread, memsize=5m, instances=$nthreads
  {
    flowop read name=rand-read1, filename=largefile1, iosize=$iosize, random,
        workingset=$workingset, directio=$directio
  }
  thread name=rand-w-thread, memsize=5m, instances=$nthreads
  {
    flowop write name=rand-write1, filename=largefile1, iosize=$iosize, random,
        workingset=$workingset, directio=$directio
  }
}

run $runtime
