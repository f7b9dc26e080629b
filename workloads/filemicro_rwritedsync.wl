# filemicro_rwritedsync: small random writes into one large file, each on stable storage before the next
#
# A thread writes $iosize bytes at a random place of the file, opened for synchronous writing, until the run has done
# $count writes. It isolates the latency of a commit, as the log of a data base meets it.
#
# 65536 writes take as long as 65536 commits do, which can be many minutes: lower $count, or give a --runtime. The file
# has 1 GiB as it stands; $filesize changes little. $nthreads write at the same time, $iters is the number of writes of
# a round.

## number of writes after which the run ends
set $count=65536
## size of the file, in bytes
set $filesize=1g
## bytes of one write
set $iosize=2k
## writes of one round
set $iters=1
## threads that write at the same time
set $nthreads=1

set mode quit firstdone

define file name=bigfile, path=$dir, size=$filesize, prealloc, reuse

define process name=filewriter, instances=1
{
  thread name=filewriterthread, memsize=10m, instances=$nthreads
  {
    flowop write name=write-file, filename=bigfile, random, dsync, iosize=$iosize, iters=$iters
    flowop finishoncount name=finish, value=$count
  }
}

run
