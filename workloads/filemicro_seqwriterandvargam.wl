# filemicro_seqwriterandvargam: a file for each thread, written once by appends of gamma-distributed size
#
# A thread opens an empty file of its own, appends $count times and closes it; the first that is done ends the run. An
# append has at least 1 KiB and 5.5 KiB in the mean: many small ones and few large ones, as programs write.
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
## bytes of one append: a gamma distribution, or a number
set $iosize=randvar(type=gamma, min=1k, mean=5632, gamma=1500)

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
