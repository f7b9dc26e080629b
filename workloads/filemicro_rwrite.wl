# filemicro_rwrite: small random writes into one large file
#
# A thread writes $iosize bytes at a random place of the file until the run has written $bytes. Nothing is flushed: what
# is measured is how the page cache takes partial pages, and what it sends on in the meantime.
#
# The file has 1 GiB as it stands; a second run keeps it. $filesize beyond the memory brings the reading of the rest of
# a page into the picture, `--set sync=true` ($sync) makes each write wait for stable storage. $bytes is how much is
# written, $nthreads how many write at the same time, $iters how many writes a round has.

## bytes written after which the run ends
set $bytes=128m
## size of the file, in bytes
set $filesize=1g
## bytes of one write
set $iosize=2k
## writes of one round
set $iters=1
## threads that write at the same time
set $nthreads=1
## true: each write is on stable storage before the next
set $sync=false

set mode quit firstdone

define file name=bigfile1, path=$dir, size=$filesize, prealloc, reuse

define process name=filewriter, instances=1
{
  thread name=filewriterthread, memsize=10m, instances=$nthreads
  {
    flowop write name=write-file, filename=bigfile1, random, dsync=$sync, iosize=$iosize,
        iters=$iters
    flowop finishonbytes name=finish, value=$bytes
  }
}

run
