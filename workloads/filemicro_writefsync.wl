# filemicro_writefsync: appends to one file, with an fsync after every 8 MiB
#
# The thread appends $iosize bytes $writeiters times and flushes the file; the run ends with the $fsynccount-th flush.
# It isolates how long it takes to bring a stretch of new data to stable storage, as a program that saves its work does.
#
# 1 GiB is written as it stands: $writeiters times $iosize, $fsynccount times. A smaller $writeiters means smaller
# flushes.

## bytes of one append
set $iosize=8k
## appends before each fsync
set $writeiters=1024
## number of fsyncs after which the run ends
set $fsynccount=128

set mode quit firstdone

define file name=bigfile, path=$dir, size=0, prealloc

define process name=filewriter, instances=1
{
  thread name=filewriterthread, memsize=10m, instances=1
  {
    flowop appendfile name=append-file, filename=bigfile, iosize=$iosize, iters=$writeiters
    flowop fsync name=sync-file
    flowop finishoncount name=finish, value=$fsynccount, target=sync-file
  }
}

run
