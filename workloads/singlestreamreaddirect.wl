# singlestreamreaddirect: one large file read from start to end past the page cache, over and over
#
# A thread reads $iosize bytes after the other with direct I/O, and begins again at the end of the file: the bandwidth
# of one request at a time, without the client's cache and read-ahead.
#
# The file has 5 GiB as it stands; a second run keeps it. As nothing is cached here, a smaller $filesize does too, where
# the cache of the server or the device is small. $iosize must be a multiple of the block size, and the file system must
# know direct I/O. Each of $nthreads reads the whole file for itself.

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
    flowop read name=seqread, filename=largefile1, iosize=$iosize, directio
  }
}

run $runtime
