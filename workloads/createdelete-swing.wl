# createdelete-swing: one process makes all files of a tree, another deletes them, in turns
#
# The first process creates, writes and closes every file of the set, wakes the second and waits; the second deletes them
# all, wakes the first and waits. So the tree is now full and now empty, and the file system meets long bursts of
# allocation and of freeing, never both at once.
#
# A full tree has 488 MiB as it stands, in one directory. $nfiles and $filesize size it; $dirgamma above 0 and a smaller
# $meandirwidth spread it over directories of different depth. $eventrate limits the files made per second; 0 is no
# limit. Give a --runtime of many swings, for each counts only as far as it came.

## number of files that are made and deleted in a swing
set $nfiles=1000
## size of each file, in bytes
set $filesize=500k
## mean number of entries of a directory; as it stands all files are in one
set $meandirwidth=1000
## shape x 1000 of the distribution of widths and depths of directories; 0 makes all alike
set $dirgamma=0
## files made per second; 0 is no limit
set $eventrate=0
## length of the run, in seconds
set $runtime=60

eventgen rate=$eventrate

define fileset name=manyfiles, path=$dir, size=$filesize, entries=$nfiles, dirwidth=$meandirwidth,
    dirgamma=$dirgamma

define flowop name=createandclose
{
  flowop createfile name=createfile, filesetname=manyfiles, fd=1
  flowop writewholefile name=writewholefile, filesetname=manyfiles, fd=1
  flowop closefile name=closefile, fd=1
  flowop eventlimit name=crlimit
}

define process name=crproc, instances=1
{
  thread name=crthread, instances=1
  {
    flowop createandclose name=createandclose, iters=$nfiles
    flowop wakeup name=wakeupdelproc, target=delprocblock
    flowop block name=crprocblock
  }
}

define process name=delproc, instances=1
{
  thread name=delthread, instances=1
  {
    flowop block name=delprocblock
    flowop deletefile name=dodelete, filesetname=manyfiles, iters=$nfiles
    flowop wakeup name=crprocwake, target=crprocblock
  }
}

run $runtime
