# webproxy: a proxy that keeps web pages in a cache of files
#
# In a round a thread deletes a page, stores a new one (create, append, close), and reads five pages whole: one miss for
# five hits. All pages lie in one directory, in which threads create and delete at the same time. Nothing is flushed,
# for a cache may be lost.
#
# The pages are 156 MiB in all, a fifth of which is left to be made, gamma-distributed around $meanfilesize. They are in
# memory at once: raise $nfiles until they are not. $nthreads are requests at the same time, $meaniosize is the largest
# append, $iosize the largest read, $meandirwidth the mean number of pages of a directory. $eventrate limits the
# operations per second of all threads together; 0 is no limit.

## number of pages, four fifths of which are there at the start
set $nfiles=10000
## mean number of pages of a directory; as it stands all are in one
set $meandirwidth=1000000
## mean size of a page, in bytes
set $meanfilesize=16k
## size of a page: a gamma distribution around $meanfilesize, or bytes
set $filesize=randvar(type=gamma, mean=$meanfilesize, gamma=1500)
## requests at the same time
set $nthreads=100
## largest append, in bytes; half of it is the mean
set $meaniosize=16k
## largest read, in bytes
set $iosize=1m
## operations per second of all threads together; 0 is no limit
set $eventrate=0
## length of the run, in seconds
set $runtime=60

eventgen rate=$eventrate

define fileset name=bigfileset, path=$dir, size=$filesize, entries=$nfiles, dirwidth=$meandirwidth,
    prealloc=80

define process name=proxycache, instances=1
{
  thread name=proxycache, memsize=10m, instances=$nthreads
  {
    flowop deletefile name=deletefile1, filesetname=bigfileset

    flowop createfile name=createfile1, filesetname=bigfileset, fd=1
    flowop appendfilerand name=appendfilerand1, iosize=$meaniosize, fd=1
    flowop closefile name=closefile1, fd=1

    flowop openfile name=openfile2, filesetname=bigfileset, fd=1
    flowop readwholefile name=readfile2, fd=1, iosize=$iosize
    flowop closefile name=closefile2, fd=1
    flowop openfile name=openfile3, filesetname=bigfileset, fd=1
    flowop readwholefile name=readfile3, fd=1, iosize=$iosize
    flowop closefile name=closefile3, fd=1
    flowop openfile name=openfile4, filesetname=bigfileset, fd=1
    flowop readwholefile name=readfile4, fd=1, iosize=$iosize
    flowop closefile name=closefile4, fd=1
    flowop openfile name=openfile5, filesetname=bigfileset, fd=1
    flowop readwholefile name=readfile5, fd=1, iosize=$iosize
    flowop closefile name=closefile5, fd=1
    flowop openfile name=openfile6, filesetname=bigfileset, fd=1
    flowop readwholefile name=readfile6, fd=1, iosize=$iosize
    flowop closefile name=closefile6, fd=1

    flowop opslimit name=limit
  }
}

run $runtime
