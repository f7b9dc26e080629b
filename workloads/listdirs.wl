# listdirs: many threads that list the directories of a deep tree
#
# Each thread opens a directory, reads all its entries and closes it, one directory after the other, over and over. It
# isolates readdir. The files are empty, and nobody opens them.
#
# 50000 files with five entries a directory make a tree of some ten thousand directories: raise $nfiles until the caches
# do not hold it. A larger $meandirwidth makes fewer and longer listings. $nthreads list at the same time.

## number of files, all empty
set $nfiles=50000
## mean number of entries of a directory
set $meandirwidth=5
## threads that list at the same time
set $nthreads=16
## length of the run, in seconds
set $runtime=60

define fileset name=bigfileset, path=$dir, size=0, entries=$nfiles, dirwidth=$meandirwidth, prealloc

define process name=lsdir, instances=1
{
  thread name=dirlister, memsize=1m, instances=$nthreads
  {
    flowop listdir name=open1, filesetname=bigfileset
  }
}

run $runtime
