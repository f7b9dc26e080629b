# filemicro_seqwriterand: one file written once by appends of random size
#
# A thread opens an empty file, appends 1 to $iosize bytes $count times, closes it, and the run is over. It isolates
# sequential writes that do not keep to pages and blocks.
#
# The file gets about 512 MiB as it stands: $count times half of $iosize. With `--set sync=true` ($sync) each write
# waits for stable storage; then a smaller $count is enough. With more $nthreads the first that is done ends the run.

## number of appends that make the file
set $count=128k
## largest append, in bytes
set $iosize=8k
## threads that append to the file; the first that is done ends the run
set $nthreads=1
## true: each append is on stable storage before the next
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
