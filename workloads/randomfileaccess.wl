# randomfileaccess: users who open files of very different popularity, append to one of three and read two whole
#
# In a round a thread opens three files, appends to the first, reads the other two whole and closes all. Which files
# these are is drawn: a few are taken most of the time, and many hardly ever. Sizes of files follow the table of
# SPECsfs, in which a third has 1 KiB and one in a hundred up to 1.7 MiB; sizes of requests are drawn too. Almost half
# of the draws are of the very first file: it grows with the appends, is read whole all the same, and so slows the run
# down as time goes on. Compare runs of one length only.
#
# 10000 files are about 240 MiB as they stand; raise $nfiles until they do not fit in memory, though the popular ones
# always will. `--set filesize=16k` ($filesize) makes all files alike; $wrtiosize and $rdiosize are the requests.
# $fileidx is the index of a file, gamma-distributed with a mean of a twentieth of $nfiles. $nthreads are users at the
# same time, $meandirwidth is the mean number of entries of a directory.

## number of files of the set
set $nfiles=10000
## mean number of entries of a directory
set $meandirwidth=20
## users at the same time
set $nthreads=5
## length of the run, in seconds
set $runtime=60

## largest append: a gamma distribution, or bytes
set $wrtiosize=randvar(type=gamma, min=512, round=512, mean=16k, gamma=1500)
## bytes of one read: a table of shares and ranges, or a number
set $rdiosize=randvar(type=tabular, min=8k, round=1k, randtable={{85, 8k, 8k}, {15, 8k, 64k}})
## size of a file: the table of SPECsfs, or bytes
set $filesize=randvar(type=tabular, min=1k, randtable={
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
## index of the file that is opened: few of them most of the time
set $fileidx=randvar(type=gamma, mean=$nfiles / 20, gamma=100)

define fileset name=bigfileset, path=$dir, size=$filesize, entries=$nfiles, dirwidth=$meandirwidth,
    prealloc=100

define process name=netclient, instances=1
{
  thread name=fileuser, memsize=10m, instances=$nthreads
  {
    flowop openfile name=openfile1, filesetname=bigfileset, indexed=$fileidx, fd=1
    flowop openfile name=openfile2, filesetname=bigfileset, indexed=$fileidx, fd=2
    flowop openfile name=openfile3, filesetname=bigfileset, indexed=$fileidx, fd=3
    flowop appendfilerand name=appendfilerand1, iosize=$wrtiosize, fd=1
    flowop closefile name=closefile1, fd=1
    flowop readwholefile name=readfile1, iosize=$rdiosize, fd=2
    flowop readwholefile name=readfile2, iosize=$rdiosize, fd=3
    flowop closefile name=closefile2, fd=2
    flowop closefile name=closefile3, fd=3
  }
}

run $runtime
