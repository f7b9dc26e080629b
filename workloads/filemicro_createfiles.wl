# filemicro_createfiles: files of 1 KiB, created, written and closed in one large directory
#
# In a round a thread creates one of the files that are missing, writes it whole and closes it. Half of the set is there
# before the run, so the directory is large from the start. The run ends after $count operations; a new file is three of
# them. It isolates the creation of a small file.
#
# 15000 operations make 5000 of the 10000 missing files. A larger $count needs a larger $nfiles: half of $nfiles, times
# three, is the most there is to do. $nthreads create at the same time, $filesize is the size of each file, and a
# smaller $meandirwidth spreads them over directories.

## number of operations after which the run ends; a new file is three
set $count=15000
## size of each file, in bytes
set $filesize=1k
## largest request, in bytes
set $iosize=1m
## mean number of entries of a directory
set $meandirwidth=100000
## number of files of the set, half of which are there at the start
set $nfiles=20000
## threads that do this at the same time
set $nthreads=1

set mode quit firstdone

define fileset name=bigfileset, path=$dir, size=$filesize, entries=$nfiles, dirwidth=$meandirwidth,
    prealloc=50

define process name=filecreate, instances=1
{
  thread name=filecreatethread, memsize=10m, instances=$nthreads
  {
    flowop createfile name=createfile1, filesetname=bigfileset, fd=1
    flowop writewholefile name=writefile1, filesetname=bigfileset, fd=1, iosize=$iosize
    flowop closefile name=closefile1, fd=1
    flowop finishoncount name=finish, value=$count
  }
}

run
