# ratelimcopyfiles: one user who copies a tree of small files at a limited rate
#
# The rounds are those of copyfiles: open, read whole, create, write whole, close both. After each one the thread waits
# for an event, so that $eventrate files are copied in a second, by all threads together. The run ends when every file
# is copied. What it measures is the latency under a load that is far from the most the storage can do.
#
# 1000 files at 10 a second take 100 seconds: raise $eventrate, or lower $nfiles. The source is 16 MiB as it stands,
# gamma-distributed; `--set filesize=16k` ($filesize) makes all files alike. $iosize is the largest request, $nthreads
# the number of threads that share the rate, $dirwidth the mean number of entries of a directory.

## files per second, of all threads together; 0 is no limit
set $eventrate=10
## mean number of entries of a directory
set $dirwidth=20
## size of a file: a gamma distribution with a mean of 16 KiB, or bytes
set $filesize=cvar(type=cvar-gamma, parameters=mean:16384;gamma:1.5)
## largest request, in bytes
set $iosize=1m
## number of files to copy
set $nfiles=1000
## threads that share the rate
set $nthreads=1

set mode quit firstdone
eventgen rate=$eventrate

define fileset name=bigfileset, path=$dir, size=$filesize, entries=$nfiles, dirwidth=$dirwidth,
    prealloc=100
define fileset name=destfiles, path=$dir, size=$filesize, entries=$nfiles, dirwidth=$dirwidth

define process name=filereader, instances=1
{
  thread name=filereaderthread, memsize=10m, instances=$nthreads
  {
    flowop openfile name=openfile1, filesetname=bigfileset, fd=1
    flowop readwholefile name=readfile1, fd=1, iosize=$iosize
    flowop createfile name=createfile2, filesetname=destfiles, fd=2
    flowop writewholefile name=writefile2, filesetname=destfiles, fd=2, srcfd=1, iosize=$iosize
    flowop closefile name=closefile1, fd=1
    flowop closefile name=closefile2, fd=2
    flowop iopslimit name=iopslim1, target=writefile2
  }
}

run
