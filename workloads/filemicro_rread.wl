# filemicro_rread: small random reads of one large file
#
# A thread reads $iosize bytes at a random place of the file until the run has read $bytes. It isolates the latency of a
# small read. The flowop is called write-file in filebench too.
#
# The file has 1 GiB as it stands and was written just before, so it is in memory: raise $filesize to at least twice the
# memory, or empty the cache before a second run, which finds the file there and keeps it. $bytes is how much is read,
# $nthreads how many read at the same time, $iters how many reads a round has.

## bytes read after which the run ends
set $bytes=128m
## size of the file, in bytes
set $filesize=1g
## bytes of one read
set $iosize=2k
## reads of one round
set $iters=1
## threads that read at the same time
set $nthreads=1

set mode quit firstdone

define file name=bigfile1, path=$dir, size=$filesize, prealloc, reuse

define process name=filereader, instances=1
{
  thread name=filereaderthread, memsize=10m, instances=$nthreads
  {
    flowop read name=write-file, filesetname=bigfile1, random, iosize=$iosize, iters=$iters
    flowop finishonbytes name=finish, value=$bytes
  }
}

run
