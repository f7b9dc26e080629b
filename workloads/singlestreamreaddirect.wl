# singlestreamreaddirect: one large file read from start to end past the page cache, over and over
#
# A thread reads $iosize bytes after the other with direct I/O, and begins again at the end of the file: the bandwidth
# of one request at a time, without the client's cache and read-ahead.
#
# The file has 5 GiB as it stands; a second run keeps it. As nothing is cached here, a smaller $filesize does too, where
# the cache of the server or the device is small. $iosize must be a multiple of the block size, and the file system must
# know direct I/O. Each of $nthreads reads the whole file for itself.

set $filesize=5g
set $nthreads=1
set $iosize=1m
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
