# mongo: one user who appends to files of one tree, reads them, and deletes another tree
#
# In a round a thread opens a file and appends to it, opens the next one and reads it whole, and deletes a file of the
# second set. The run ends when the second set is gone. The phases of the mongo benchmark, which was made for the file
# system ReiserFS, follow each other there; here they are mixed.
#
# The two sets have 16 MiB each as they stand, gamma-distributed, and $nfiles rounds take a moment: raise $nfiles for a
# longer run. `--set filesize=16k` ($filesize) makes all files alike. $meaniosize is the largest append, $readiosize the
# largest read, $nthreads the number of threads, and $dirwidth the mean number of entries of a directory.

## number of files of each of the two sets
set $nfiles=1000
## mean number of entries of a directory
set $dirwidth=20
## size of a file: a gamma distribution with a mean of 16 KiB, or bytes
set $filesize=cvar(type=cvar-gamma, parameters=mean:16384;gamma:1.5)
## users at the same time
set $nthreads=1
## largest append, in bytes; half of it is the mean
set $meaniosize=16k
## largest read, in bytes
set $readiosize=1m

set mode quit firstdone

define fileset name=postset, path=$dir, size=$filesize, entries=$nfiles, dirwidth=$dirwidth,
    prealloc
define fileset name=postsetdel, path=$dir, size=$filesize, entries=$nfiles, dirwidth=$dirwidth,
    prealloc

define process name=filereader, instances=1
{
  thread name=filereaderthread, memsize=10m, instances=$nthreads
  {
    flowop openfile name=openfile1, filesetname=postset, fd=1
    flowop appendfilerand name=appendfilerand1, iosize=$meaniosize, fd=1
    flowop closefile name=closefile1, fd=1
    flowop openfile name=openfile2, filesetname=postset, fd=1
    flowop readwholefile name=readfile1, fd=1, iosize=$readiosize
    flowop closefile name=closefile2, fd=1
    flowop deletefile name=deletefile1, filesetname=postsetdel
  }
}

run
