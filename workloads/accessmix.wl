# accessmix: an access specification as IOMeter has it: shares of sizes, of reads, and of random places
#
# Each thread does one request after the other, whose size is drawn by shares, and which reads in $readpct of a hundred
# cases. As it stands the shares are those of IOMeter's "File Server" specification: eight sizes from 512 bytes to 64
# KiB, six in ten of them 4 KiB, four reads for each write, all at random places. Another specification is another list
# of weights: copy the file (`wlrun show accessmix --text`), or give them on the command line; a weight of 0 leaves a
# size out.
#
# The file has 4 GiB as it stands, and requests go through the page cache because 512 bytes are less than the block of
# many devices: raise $filesize to at least twice the memory, or leave the small sizes out and say `--set directio=1`
# ($directio). Threads ($nthreads) are IOMeter's outstanding I/Os.

## share of the requests that read, in per cent
set $readpct=80
## share of the requests that have 512 bytes
set $w512=10
## share of the requests that have 1k bytes
set $w1k=5
## share of the requests that have 2k bytes
set $w2k=5
## share of the requests that have 4k bytes
set $w4k=60
## share of the requests that have 8k bytes
set $w8k=2
## share of the requests that have 16k bytes
set $w16k=4
## share of the requests that have 32k bytes
set $w32k=4
## share of the requests that have 64k bytes
set $w64k=10
## size of the file, in bytes
set $filesize=4g
## threads, each with one request under way
set $nthreads=16
## 1: past the page cache (O_DIRECT)
set $directio=0
## length of the run, in seconds
set $runtime=60

define file name=iobw, path=$dir, size=$filesize, prealloc, reuse

define flowop name=access, $size
{
  mix
  {
    flowop read name=read, filename=iobw, iosize=$size, random, directio=$directio, weight=$readpct
    flowop write name=write, filename=iobw, iosize=$size, random, directio=$directio,
        weight=100 - $readpct
  }
}

define process name=worker, instances=1
{
  thread name=worker, instances=$nthreads
  {
    mix name=specification
    {
      flowop access name=a512, $size=512, weight=$w512
      flowop access name=a1k, $size=1k, weight=$w1k
      flowop access name=a2k, $size=2k, weight=$w2k
      flowop access name=a4k, $size=4k, weight=$w4k
      flowop access name=a8k, $size=8k, weight=$w8k
      flowop access name=a16k, $size=16k, weight=$w16k
      flowop access name=a32k, $size=32k, weight=$w32k
      flowop access name=a64k, $size=64k, weight=$w64k
    }
  }
}

run $runtime
