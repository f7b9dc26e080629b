# filemicro_delete: many threads that delete small files
#
# Each thread deletes one file after the other, until the run has done $count deletions. It isolates the removal of a
# file that holds data: the directory entry, and the blocks that become free.
#
# 1000 of 5000 files go as it stands, which takes a moment: raise $count, and $nfiles to more than that. $nthreads
# delete at the same time, $filesize is the size of each file (the set has 80 MiB), $meandirwidth the mean number of
# files of a directory. $eventrate limits the deletions per second of all threads together; 0 is no limit.

## number of deletions after which the run ends
set $count=1000
## size of each file, in bytes
set $filesize=16k
## number of files; more than $count
set $nfiles=5000
## mean number of entries of a directory
set $meandirwidth=100
## threads that delete at the same time
set $nthreads=16
## deletions per second of all threads together; 0 is no limit
set $eventrate=0

set mode quit firstdone
eventgen rate=$eventrate

define fileset name=bigfileset, path=$dir, size=$filesize, entries=$nfiles, dirwidth=$meandirwidth,
    prealloc=100

define process name=filedelete, instances=1
{
  thread name=filedeletethread, memsize=10m, instances=$nthreads
  {
    flowop deletefile name=deletefile1, filesetname=bigfileset
    flowop opslimit name=limit
    flowop finishoncount name=finish, value=$count
  }
}

run
