# sio: one size of request on one file, with a share of reads and a share of random places
#
# Each thread does one request after the other. $readpct of a hundred of them read, the others write; $randpct of a
# hundred are at a random place, the others follow the last sequential one of their kind. It is the smallest question
# that is asked of a storage, as the program sio asks it: how many such requests a second, and how long does each take.
# Threads ($nthreads) are what other tools call queue depth: each has one request under way.
#
# Everything is direct I/O, so $iosize is a multiple of the block size of the device; `--set directio=0` ($directio)
# makes it cached, and then $filesize should be at least twice the memory. A second run keeps the file. It is called
# $target, in the directory $path. A device is `--set path=/dev --set target=sdb --allow-path /dev/sdb`, with
# `--set filesize=0` for all of it; to write there it has to be named once more, by `--destroy-data /dev/sdb`.

## share of the requests that read, in per cent
set $readpct=50
## share of the requests at a random place, in per cent
set $randpct=100
## bytes of one request
set $iosize=4k
## size of the file, in bytes; 0 for a whole device
set $filesize=1g
## threads, each with one request under way
set $nthreads=8
## 1: past the page cache (O_DIRECT)
set $directio=1
## name of the file
set $target=siofile
## directory that holds the file
set $path=$dir
## length of the run, in seconds
set $runtime=60

define file name=$target, path=$path, size=$filesize, prealloc, reuse

define process name=sio, instances=1
{
  thread name=sio, instances=$nthreads
  {
    mix name=request
    {
      flowop read name=randread, filename=$target, fd=1, iosize=$iosize, random, directio=$directio,
          weight=$readpct * $randpct
      flowop write name=randwrite, filename=$target, fd=1, iosize=$iosize, random,
          directio=$directio, weight=(100 - $readpct) * $randpct
      flowop read name=seqread, filename=$target, fd=2, iosize=$iosize, directio=$directio,
          weight=$readpct * (100 - $randpct)
      flowop write name=seqwrite, filename=$target, fd=3, iosize=$iosize, wrap, directio=$directio,
          weight=(100 - $readpct) * (100 - $randpct)
    }
  }
}

run $runtime
