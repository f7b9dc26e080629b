# oltp: a data base with many readers, a few writers in the background, and a log
#
# Each shadow process stands for a user: it reads a block at a random place of the data files, computes for a while, and
# posts that it has changed something. The data base writers wait for enough such posts, and write a hundred random
# blocks each by asynchronous I/O; the log writer waits for more of them, and writes 256 KiB of the log. Readers that
# are too far ahead of the writers wait for them. The model is the I/O of an Oracle data base under a transaction load:
# many small reads at random, bursts of small synchronous writes, a log that all wait for.
#
# The data files have 100 MiB as they stand, which fits in any memory: make $filesize so large that $nfiles of them are
# twice the memory, or say --set directio=1 ($directio; then $iosize is a multiple of the block size). $nshadows users
# and $ndbwriters writers are a process each, with $memperthread of memory; $usermode is the length of a user's
# computing, in stores to memory. $eventrate limits the transactions per second of all users together. $workingset is
# how much of each data file is used. $logfilesize and $nlogfiles size the log. The log writer waits for $logchanges
# changes of users, a data base writer for $dbchanges. Figures need a run of some minutes.

## transactions per second of all users together; 0 is no limit
set $eventrate=0
## bytes of one read, and of one write into the data files
set $iosize=2k
## users, a process each
set $nshadows=200
## data base writers, a process each
set $ndbwriters=10
## length of a user's computing between two reads, in stores to memory
set $usermode=200000
## size of each data file, in bytes
set $filesize=10m
## memory of each thread, in bytes
set $memperthread=1m
## bytes from the start of each data file that are used; 0 is all of it
set $workingset=0
## size of each log file, in bytes
set $logfilesize=10m
## number of data files
set $nfiles=10
## number of log files
set $nlogfiles=1
## changes of users that the log writer waits for
set $logchanges=3200
## changes of users that a data base writer waits for
set $dbchanges=1000
## 1: past the page cache (O_DIRECT)
set $directio=0
## length of the run, in seconds
set $runtime=60

eventgen rate=$eventrate

define fileset name=datafiles, path=$dir, size=$filesize, entries=$nfiles, dirwidth=1024,
    prealloc=100, reuse
define fileset name=logfile, path=$dir, size=$logfilesize, entries=$nlogfiles, dirwidth=1024,
    prealloc=100, reuse

define process name=lgwr, instances=1
{
  thread name=lgwr, memsize=$memperthread
  {
    flowop aiowrite name=lg-write, filesetname=logfile, iosize=256k, random, directio=$directio,
        dsync
    flowop aiowait name=lg-aiowait
    flowop semblock name=lg-block, value=$logchanges, highwater=1000
  }
}

define process name=dbwr, instances=$ndbwriters
{
  thread name=dbwr, memsize=$memperthread
  {
    flowop aiowrite name=dbwrite-a, filesetname=datafiles, iosize=$iosize, workingset=$workingset,
        random, iters=100, opennext, directio=$directio, dsync
    flowop hog name=dbwr-hog, value=10000
    flowop semblock name=dbwr-block, value=$dbchanges, highwater=2000
    flowop aiowait name=dbwr-aiowait
  }
}

define process name=shadow, instances=$nshadows
{
  thread name=shadow, memsize=$memperthread
  {
    flowop read name=shadowread, filesetname=datafiles, iosize=$iosize, workingset=$workingset,
        random, opennext, directio=$directio
    flowop hog name=shadowhog, value=$usermode
    flowop sempost name=shadow-post-lg, value=1, target=lg-block, blocking
    flowop sempost name=shadow-post-dbwr, value=1, target=dbwr-block, blocking
    flowop eventlimit name=random-rate
  }
}

run $runtime
