# randomread: random reads of one large file
#
# A thread reads $iosize bytes at a random place of the file, again and again. With many threads it is the load of a
# data base that finds nothing in its own cache.
#
# The file has 5 GiB as it stands; a second run keeps it. Raise $filesize to at least twice the memory, or say `--set
# directio=1` ($directio; $iosize is then a multiple of the block size), or the reads measure this client's cache.
# $workingset is how much of the file is used, from its start; 0 is all of it. $nthreads is the number of requests at
# the same time.

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

define process name=rand-read, instances=1
{
  thread name=rand-thread, memsize=5m, instances=$nthreads
  {
    flowop read name=rand-read1, filename=largefile1, iosize=$iosize, random,
        workingset=$workingset, directio=$directio
  }
}

run $runtime
