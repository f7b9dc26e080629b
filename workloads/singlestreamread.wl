# singlestreamread: one large file read from start to end, over and over
#
# A thread reads $iosize bytes after the other, and begins again at the end of the file: the bandwidth of a single
# sequential reader, with the kernel's read-ahead.
#
# The file has 5 GiB as it stands; a second run keeps it. Raise $filesize to at least twice the memory, or the reads
# measure this client's cache. Each of $nthreads reads the whole file for itself.

## size of the file, in bytes
set $filesize=5g
## threads on the one file
set $nthreads=1
## bytes of one request
set $iosize=1m
## length of the run, in seconds
set $runtime=60

define file name=largefile1, path=$dir, size=$filesize, prealloc, reuse

define process name=seqread, instances=1
{
  thread name=seqread, memsize=10m, instances=$nthreads
  {
    flowop read name=seqread, filename=largefile1, iosize=$iosize
  }
}

run $runtime
