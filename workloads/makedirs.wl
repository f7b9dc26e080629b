# makedirs: many threads that make directories
#
# The directories down to the last level are there before the run; the threads make those of the last level, one after
# the other. The run ends when all are made. It isolates mkdir, and how far threads hinder each other in it.
#
# 10000 directories take a moment: raise $ndirs for a longer run. $meandirwidth is the mean number of entries of a
# directory, $nthreads the number of threads.

## number of directories to make
set $ndirs=10000
## mean number of entries of a directory
set $meandirwidth=100
## threads that make directories at the same time
set $nthreads=16

set mode quit firstdone

define fileset name=bigfileset, path=$dir, size=0, leafdirs=$ndirs, dirwidth=$meandirwidth

define process name=dirmake, instances=1
{
  thread name=dirmaker, memsize=1m, instances=$nthreads
  {
    flowop makedir name=mkdir1, filesetname=bigfileset
  }
}

run
