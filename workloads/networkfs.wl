# networkfs: clients of a network file server whose set of files grows with the load that is asked for
#
# The rounds are those of netsfs: three files are looked at, six rewritten, three appended to, one asked for its
# attributes, and then the client waits for an event. The set has $nfiles files for each event per second, as SPECsfs
# scales its data with the load, so that a higher load does not simply hit the same files more often. The steps are
# composite flowops that are told their file set.
#
# 10 events a second have 100000 files, about 2.4 GiB, six in ten of which are there at the start. Double $eventrate
# until it no longer holds, with $nthreads clients enough for it. --set filesize=16k ($filesize) makes all files alike.
# $fileidx is the index of the file that is taken, gamma-distributed with a mean of a twentieth of $totalfiles;
# $rdiosize and $wrtiosize are the sizes of requests; $meandirwidth is the mean number of entries of a directory.

## rounds per second of all clients together
set $eventrate=10
## mean number of entries of a directory
set $meandirwidth=20
## clients
set $nthreads=1
## number of files for each event per second
set $nfiles=10000
## number of files of the set, six in ten of which are there at the start
set $totalfiles=$nfiles * $eventrate
## length of the run, in seconds
set $runtime=60

## bytes of one write, and the largest append: a table of shares and ranges, or a number
set $wrtiosize=randvar(type=tabular, min=1k, round=1k, randtable={
  { 0,   1k,   7k},
  {50,   9k,  15k},
  {14,  17k,  23k},
  {14,  33k,  39k},
  {12,  65k,  71k},
  {10, 129k, 135k}
})
## bytes of one read: a table of shares and ranges, or a number
set $rdiosize=randvar(type=tabular, min=8k, round=1k, randtable={
  {85,   8k,   8k},
  { 8,  17k,  23k},
  { 4,  33k,  39k},
  { 2,  65k,  71k},
  { 1, 129k, 135k}
})
## size of a file: the table of SPECsfs, or bytes
set $filesize=randvar(type=tabular, min=1k, round=1k, randtable={
  {33,   1k,    1k},
  {21,   1k,    3k},
  {13,   3k,    5k},
  {10,   5k,   11k},
  { 8,  11k,   21k},
  { 5,  21k,   43k},
  { 4,  43k,   85k},
  { 3,  85k,  171k},
  { 2, 171k,  341k},
  { 1, 341k, 1707k}
})
## index of the file that is taken: few of them most of the time
set $fileidx=randvar(type=gamma, mean=$totalfiles / 20, gamma=100)

eventgen rate=$eventrate

define fileset name=bigfileset, path=$dir, size=$filesize, entries=$totalfiles,
    dirwidth=$meandirwidth, prealloc=60

define flowop name=launch, $set
{
  flowop openfile name=openfile3, filesetname=$set, indexed=$fileidx, fd=3
  flowop readwholefile name=readfile3, iosize=$rdiosize, fd=3
  flowop openfile name=openfile4, filesetname=$set, indexed=$fileidx, fd=4
  flowop readwholefile name=readfile4, iosize=$rdiosize, fd=4
  flowop closefile name=closefile3, fd=3
  flowop openfile name=openfile5, filesetname=$set, indexed=$fileidx, fd=5
  flowop readwholefile name=readfile5, iosize=$rdiosize, fd=5
  flowop closefile name=closefile4, fd=4
  flowop closefile name=closefile5, fd=5
}

define flowop name=rmw, $set
{
  flowop openfile name=openfile1, filesetname=$set, indexed=$fileidx, fd=1
  flowop readwholefile name=readfile1, iosize=$rdiosize, fd=1
  flowop createfile name=newfile2, filesetname=$set, indexed=$fileidx, fd=2
  flowop writewholefile name=writefile2, fd=2, iosize=$wrtiosize, srcfd=1
  flowop closefile name=closefile1, fd=1
  flowop closefile name=closefile2, fd=2
  flowop deletefile name=deletefile1, filesetname=$set, indexed=$fileidx
}

define flowop name=appnd, $set
{
  flowop openfile name=openfile6, filesetname=$set, indexed=$fileidx, fd=6
  flowop appendfilerand name=appendfilerand6, iosize=$wrtiosize, fd=6
  flowop closefile name=closefile6, fd=6
}

define process name=netclient, instances=1
{
  thread name=fileuser, memsize=10m, instances=$nthreads
  {
    flowop launch name=launch1, $set=bigfileset
    flowop rmw name=rmw1, iters=6, $set=bigfileset
    flowop appnd name=appnd1, iters=3, $set=bigfileset
    flowop statfile name=statfile1, filesetname=bigfileset, indexed=$fileidx
    flowop eventlimit name=ratecontrol
  }
}

run $runtime
