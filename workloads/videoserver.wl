# videoserver: viewers who read videos at a steady rate, while new videos take the place of old ones
#
# Each reader plays one of the active videos from start to end, over and over; all of them together get $eventrate MiB a
# second, for that is what their viewers need. At the same time a writer deletes one of the passive videos, writes a new
# one whole, and waits $repintval seconds. The question is whether the rate holds: a reader that has to wait for the
# storage shows it as latency, and as less than $eventrate MiB/s.
#
# Videos have 128 MiB, the active ones 4 GiB and the passive ones 12 GiB, half of which are there at the start. That is
# less than real ones have: filebench's are of 10 GiB, in 1.3 TiB. $filesize, $numactivevids and $numpassivevids make
# the sets larger or smaller; the active ones should have at least twice the memory. $nthreads are viewers, $readiosize
# and $writeiosize the sizes of requests. The sets are called $actvidsname and $passvidsname, and with `--set
# reuseit=true` ($reuseit) a second run keeps them.

## MiB per second that all viewers together get
set $eventrate=96
## size of a video, in bytes
set $filesize=128m
## viewers
set $nthreads=48
## videos that are watched
set $numactivevids=32
## videos that are replaced, half of which are there at the start
set $numpassivevids=194
## true: a second run keeps the videos
set $reuseit=false
## bytes of one read
set $readiosize=256k
## bytes of one write
set $writeiosize=1m
## name of the set of passive videos
set $passvidsname=passivevids
## name of the set of active videos
set $actvidsname=activevids
## pause of the writer after each new video, in seconds
set $repintval=10
## length of the run, in seconds
set $runtime=60

eventgen rate=$eventrate

define fileset name=$actvidsname, path=$dir, size=$filesize, entries=$numactivevids, dirwidth=4,
    prealloc, reuse=$reuseit
define fileset name=$passvidsname, path=$dir, size=$filesize, entries=$numpassivevids, dirwidth=20,
    prealloc=50, reuse=$reuseit

define process name=vidwriter, instances=1
{
  thread name=vidwriter, memsize=10m, instances=1
  {
    flowop deletefile name=vidremover, filesetname=$passvidsname
    flowop createfile name=wrtopen, filesetname=$passvidsname, fd=1
    flowop writewholefile name=newvid, iosize=$writeiosize, fd=1, srcfd=1
    flowop closefile name=wrtclose, fd=1
    flowop delay name=replaceinterval, value=$repintval
  }
}

define process name=vidreaders, instances=1
{
  thread name=vidreaders, memsize=10m, instances=$nthreads
  {
    flowop read name=vidreader, filesetname=$actvidsname, iosize=$readiosize
    flowop bwlimit name=serverlimit, target=vidreader
  }
}

run $runtime
