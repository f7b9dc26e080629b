# filemicro_seqwriterandvartab: a file for each thread, written once by appends whose size comes from a table
#
# A thread opens an empty file of its own, appends $count times and closes it; the first that is done ends the run. Of
# the appends 80 per cent have 1 to 4 KiB, 15 per cent 4 to 16 KiB, and 5 per cent 16 to 64 KiB.
#
# A file gets 704 MiB as it stands: $count times the mean of $iosize. `--set iosize=8k` makes all appends alike. With
# `--set sync=true` ($sync) each write waits for stable storage; then a smaller $count is enough. $nthreads is both the
# number of threads and of files.

## threads, each with a file of its own
set $nthreads=1
## true: each append is on stable storage before the next
set $sync=false
## number of appends to each file
set $count=128k
## bytes of one append: a table of shares and ranges, or a number
set $iosize=randvar(type=tabular, min=1k, randtable={
  {80,  1k,  4k},
  {15,  4k, 16k},
  { 5, 16k, 64k}
})

set mode quit firstdone

define fileset name=bigfileset, path=$dir, size=0, entries=$nthreads, dirwidth=1024, prealloc=100

define process name=filewriter, instances=1
{
  thread name=filewriterthread, memsize=10m, instances=$nthreads
  {
    flowop openfile name=open-file, filesetname=bigfileset, dsync=$sync, fd=1
    flowop appendfile name=write-file, iosize=$iosize, fd=1, iters=$count
    flowop closefile name=close, fd=1
    flowop finishoncount name=finish, value=1
  }
}

run
