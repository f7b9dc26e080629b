# filemicro_statfile: many threads that ask for the attributes of files
#
# Each thread stats one file after the other, in the order of the set, over and over. It isolates the lookup of a path
# and its attributes; no file is opened. The first pass may go to the disk or the server, the next ones find everything
# in the caches of names and inodes.
#
# 10000 files are 1.25 GiB as they stand, all of it written before the run for nothing: `--set filesize=0` ($filesize)
# gives the same figures sooner. Raise $nfiles until the caches do not hold them. $nthreads ask at the same time, and
# $meandirwidth is the mean number of files of a directory.

## number of files of the set
set $nfiles=10000
## mean number of entries of a directory
set $meandirwidth=20
## size of each file, in bytes
set $filesize=128k
## threads that stat at the same time
set $nthreads=20
## length of the run, in seconds
set $runtime=60

define fileset name=bigfileset, path=$dir, size=$filesize, entries=$nfiles, dirwidth=$meandirwidth,
    prealloc=100

define process name=examinefiles, instances=1
{
  thread name=examinefilethread, memsize=10m, instances=$nthreads
  {
    flowop statfile name=statfile1, filesetname=bigfileset
  }
}

run $runtime
