# netsfs: clients of a network file server, with the sizes and the mix of SPECsfs
#
# In a round a client looks at three files, as who starts a program that needs two others; rewrites six files (reads one
# whole, makes a new one of its size, deletes one that nobody has open); appends to three more; and asks for the
# attributes of one. Then it waits for an event. Sizes of files and of requests follow the tables of SPECsfs, and a few
# files are taken far more often than the others.
#
# 100000 files are about 2.4 GiB as they stand, and six in ten are there at the start. $eventrate is the number of
# rounds per second of all clients together: 10 is a light load, for latency; raise it, and $nthreads, until it no
# longer holds. $nfiles sizes the set, and --set filesize=16k ($filesize) makes all files alike. $fileidx is the index
# of the file that is taken, gamma-distributed with a mean of a twentieth of $nfiles; $rdiosize and $wrtiosize are the
# sizes of requests; $meandirwidth is the mean number of entries of a directory.

## rounds per second of all clients together; 0 is no limit
set $eventrate=10
## mean number of entries of a directory
set $meandirwidth=20
## clients
set $nthreads=1
## number of files of the set, six in ten of which are there at the start
set $nfiles=100000
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
set $fileidx=randvar(type=gamma, mean=$nfiles / 20, gamma=100)

eventgen rate=$eventrate

define fileset name=bigfileset, path=$dir, size=$filesize, entries=$nfiles, dirwidth=$meandirwidth,
    prealloc=60

define flowop name=launch
{
  flowop openfile name=openfile3, filesetname=bigfileset, indexed=$fileidx, fd=3
  flowop readwholefile name=readfile3, iosize=$rdiosize, fd=3
  flowop openfile name=openfile4, filesetname=bigfileset, indexed=$fileidx, fd=4
  flowop readwholefile name=readfile4, iosize=$rdiosize, fd=4
  flowop closefile name=closefile3, fd=3
  flowop openfile name=openfile5, filesetname=bigfileset, indexed=$fileidx, fd=5
  flowop readwholefile name=readfile5, iosize=$rdiosize, fd=5
  flowop closefile name=closefile4, fd=4
  flowop closefile name=closefile5, fd=5
}

define flowop name=rmw
{
  flowop openfile name=openfile1, filesetname=bigfileset, indexed=$fileidx, fd=1
  flowop readwholefile name=readfile1, iosize=$rdiosize, fd=1
  flowop createfile name=newfile2, filesetname=bigfileset, indexed=$fileidx, fd=2
  flowop writewholefile name=writefile2, fd=2, iosize=$wrtiosize, srcfd=1
  flowop closefile name=closefile1, fd=1
  flowop closefile name=closefile2, fd=2
  flowop deletefile name=deletefile1, filesetname=bigfileset, indexed=$fileidx
}

define flowop name=appnd
{
  flowop openfile name=openfile6, filesetname=bigfileset, indexed=$fileidx, fd=6
  flowop appendfilerand name=appendfilerand6, iosize=$wrtiosize, fd=6
  flowop closefile name=closefile6, fd=6
}

define process name=netclient, instances=1
{
  thread name=fileuser, memsize=10m, instances=$nthreads
  {
    flowop launch name=launch1
    flowop rmw name=rmw1, iters=6
    flowop appnd name=appnd1, iters=3
    flowop statfile name=statfile1, filesetname=bigfileset, indexed=$fileidx
    flowop eventlimit name=ratecontrol
  }
}

run $runtime
