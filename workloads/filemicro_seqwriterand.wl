# filemicro_seqwriterand: one file written once by appends of random size
#
# A thread opens an empty file, appends 1 to $iosize bytes $count times, closes it, and the run is over. It isolates
# sequential writes that do not keep to pages and blocks.
#
# The file gets about 512 MiB as it stands: $count times half of $iosize. With `--set sync=true` ($sync) each write
# waits for stable storage; then a smaller $count is enough. With more $nthreads the first that is done ends the run.

set $count=128k
set $iosize=8k
set $nthreads=1
set $sync=false

set mode quit firstdone

define file name=bigfile, path=$dir, size=0, prealloc

define process name=filewriter, instances=1
{
  thread name=filewriterthread, memsize=10m, instances=$nthreads
  {
    flowop openfile name=open-file, filename=bigfile, dsync=$sync, fd=1
    flowop appendfilerand name=appendrand-file, iosize=$iosize, fd=1, iters=$count
    flowop closefile name=close, fd=1
    flowop finishoncount name=finish, value=1
  }
}

run
