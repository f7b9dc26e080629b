# smallfile: a tree of small files that is made, asked about, read, renamed and deleted, one after the other
#
# Five runs follow each other, and each has its own table: all files are created and written; each is asked for its
# attributes; each is opened, read whole and closed; each is moved to another tree under a new name; each is deleted. A
# run ends when all files are done, so operations per second are files per second. The model is that of the benchmark
# smallfile, which people run on distributed file systems.
#
# 10000 files of 4 KiB are there in a moment: raise $nfiles until each run takes a minute. $nthreads work at the same
# time, $meandirwidth is the mean number of entries of a directory, $filesize the size of each file. With --runtime no
# run takes longer than that, and what is left over is missing in the next.

## number of files
set $nfiles=10000
## size of each file, in bytes
set $filesize=4k
## mean number of entries of a directory
set $meandirwidth=100
## threads that do this at the same time
set $nthreads=8

set mode quit alldone

define fileset name=tree, path=$dir, size=$filesize, entries=$nfiles, dirwidth=$meandirwidth
define fileset name=renamed, path=$dir, size=$filesize, entries=$nfiles, dirwidth=$meandirwidth

# Which of the processes has an instance is set before each run.
set $creating=1
set $asking=0
set $reading=0
set $renaming=0
set $deleting=0

define process name=create, instances=$creating
{
  thread name=create, instances=$nthreads
  {
    flowop createfile name=create, filesetname=tree, fd=1
    flowop writewholefile name=write, fd=1
    flowop closefile name=closenew, fd=1
  }
}

define process name=stat, instances=$asking
{
  thread name=stat, instances=$nthreads
  {
    flowop statfile name=stat, filesetname=tree
    flowop finishoncount name=allstatted, value=$nfiles
  }
}

define process name=read, instances=$reading
{
  thread name=read, instances=$nthreads
  {
    flowop openfile name=open, filesetname=tree, fd=1
    flowop readwholefile name=read, fd=1
    flowop closefile name=close, fd=1
    flowop finishoncount name=allread, value=$nfiles * 3
  }
}

define process name=rename, instances=$renaming
{
  thread name=rename, instances=$nthreads
  {
    flowop rename name=rename, source=tree, filesetname=renamed
  }
}

define process name=delete, instances=$deleting
{
  thread name=delete, instances=$nthreads
  {
    flowop deletefile name=delete, filesetname=renamed
  }
}

run

set $creating=0
set $asking=1
run

set $asking=0
set $reading=1
run

set $reading=0
set $renaming=1
run

set $renaming=0
set $deleting=1
run
