# filemicro_seqread: one large file read from start to end, over and over
#
# A thread reads $iosize bytes after the other, and begins again at the end of the file. It isolates sequential reading:
# the bandwidth of a single reader, with the kernel's read-ahead.
#
# The file has 1 GiB as it stands and is in memory: raise $filesize to at least twice the memory where the disk or the
# server is meant. A second run keeps the file. Each of $nthreads reads the whole file for itself.

## size of the file, in bytes
set $filesize=1g
## bytes of one read
set $iosize=1m
## threads that each read the whole file
set $nthreads=1
## length of the run, in seconds
set $runtime=60

define file name=largefile, path=$dir, size=$filesize, prealloc, reuse

define process name=filereader, instances=1
{
  thread name=filereaderthread, memsize=10m, instances=$nthreads
  {
    flowop read name=seqread-file, filename=largefile, iosize=$iosize
  }
}

run $runtime
