# removedirs: many threads that remove empty directories
#
# The threads remove the directories of the last level of a tree, one after the other. The run ends when none is left.
# It isolates rmdir, and how far threads hinder each other in it.
#
# 10000 directories take a moment: raise $ndirs for a longer run. $meandirwidth is the mean number of entries of a
# directory, $nthreads the number of threads.

## number of directories to remove
set $ndirs=10000
## mean number of entries of a directory
set $meandirwidth=100
## threads that remove directories at the same time
set $nthreads=16

set mode quit firstdone

define fileset name=bigfileset, path=$dir, size=0, leafdirs=$ndirs, dirwidth=$meandirwidth, prealloc

define process name=remdir, instances=1
{
  thread name=removedirectory, memsize=1m, instances=$nthreads
  {
    flowop removedir name=dirremover, filesetname=bigfileset
  }
}

run
