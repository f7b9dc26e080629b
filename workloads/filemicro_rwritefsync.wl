# filemicro_rwritefsync: many random writes into one large file, then one fsync for all of them
#
# A thread writes $iosize bytes at a random place of the file, $iters times, and flushes the file. The flush is what it
# is about: how long it takes to bring many scattered dirty pages to stable storage. The end is looked for after each
# round, and with $count=1 the first round is the last.
#
# 128 MiB become dirty as it stands, $iters times $iosize, in a file of 1 GiB ($filesize). For a mean of several flushes
# set $count to as many operations as these rounds have, $iters and one more in each. $nthreads do this at the same
# time.

## number of operations after which the run ends, looked at after each round
set $count=1
## size of the file, in bytes
set $filesize=1g
## bytes of one write
set $iosize=8k
## writes before each fsync
set $iters=16384
## threads that do this at the same time
set $nthreads=1

set mode quit firstdone

define file name=bigfile, path=$dir, size=$filesize, prealloc

define process name=filewriter, instances=1
{
  thread name=filewriterthread, memsize=10m, instances=$nthreads
  {
    flowop write name=write-file, filename=bigfile, random, iosize=$iosize, iters=$iters
    flowop fsync name=sync-file
    flowop finishoncount name=finish, value=$count
  }
}

run
