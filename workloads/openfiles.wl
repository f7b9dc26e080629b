# openfiles: many threads that open files and close them again
#
# Each thread opens a file and closes it, one after the other, over and over. It isolates the lookup of a path, the
# check of rights and what an open file costs; on a network file system with state, the open and the close of the
# protocol. The files are empty.
#
# 50000 files fit in the caches of names and inodes: raise $nfiles until they do not. $nthreads open at the same time,
# and $meandirwidth is the mean number of files of a directory.

## number of files, all empty
set $nfiles=50000
## mean number of entries of a directory
set $meandirwidth=100
## threads that open and close at the same time
set $nthreads=16
## length of the run, in seconds
set $runtime=60

define fileset name=bigfileset, path=$dir, size=0, entries=$nfiles, dirwidth=$meandirwidth, prealloc

define process name=fileopen, instances=1
{
  thread name=fileopener, memsize=1m, instances=$nthreads
  {
    flowop openfile name=open1, filesetname=bigfileset, fd=1
    flowop closefile name=close1, fd=1
  }
}

run $runtime
