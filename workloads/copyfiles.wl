# copyfiles: one user who copies a tree of small files
#
# In a round a thread opens a file of the first set, reads it whole, creates a file of the second set, writes into it as
# much as it read, and closes both. The run ends when every file is copied, however long that takes: compare the time,
# or the operations per second. The model is a recursive copy by one program; more threads are a parallel one.
#
# The source is 16 MiB as it stands, gamma-distributed around $meanfilesize, and a copy of it needs the same room again.
# Such a run takes only a moment: raise $nfiles, beyond the memory where the disk is meant. $nthreads copy at the same
# time; $meandirwidth is the mean number of entries of a directory, $iosize the largest request.

## number of files to copy
set $nfiles=1000
## mean number of entries of a directory
set $meandirwidth=20
## mean size of a file, in bytes
set $meanfilesize=16k
## size of a file: a gamma distribution around $meanfilesize, or bytes
set $filesize=randvar(type=gamma, mean=$meanfilesize, gamma=1500)
## largest request, in bytes
set $iosize=1m
## threads that copy at the same time
set $nthreads=1

set mode quit firstdone

define fileset name=bigfileset, path=$dir, size=$filesize, entries=$nfiles, dirwidth=$meandirwidth,
    prealloc=100
define fileset name=destfiles, path=$dir, size=$filesize, entries=$nfiles, dirwidth=$meandirwidth

define process name=filereader, instances=1
{
  thread name=filereaderthread, memsize=10m, instances=$nthreads
  {
    flowop openfile name=openfile1, filesetname=bigfileset, fd=1
    flowop readwholefile name=readfile1, fd=1, iosize=$iosize
    flowop createfile name=createfile2, filesetname=destfiles, fd=2
    flowop writewholefile name=writefile2, fd=2, srcfd=1, iosize=$iosize
    flowop closefile name=closefile1, fd=1
    flowop closefile name=closefile2, fd=2
  }
}

run
