# webserver: a web server that sends small files to many clients and writes each request to a log
#
# In a round a thread opens, reads whole and closes ten pages, then appends a line to the one log that all threads share.
# Nearly all of it is reading of files that somebody read a moment ago: the workload measures open, lookup and cached
# reads, and the contention of many appends to one file.
#
# The pages are 16 MiB in all as they stand and are never written, so the server's and the client's caches hold them;
# raise $nfiles until they do not where the disk is meant. $nthreads are requests at the same time.

## number of pages
set $nfiles=1000
## mean number of entries of a directory
set $meandirwidth=20
## size of a page: a gamma distribution with a mean of 16 KiB, or bytes
set $filesize=cvar(type=cvar-gamma, parameters=mean:16384;gamma:1.5)
## requests at the same time
set $nthreads=100
## largest read, in bytes
set $iosize=1m
## largest append to the log, in bytes; half of it is the mean
set $meanappendsize=16k
## length of the run, in seconds
set $runtime=60

define fileset name=bigfileset, path=$dir, size=$filesize, entries=$nfiles, dirwidth=$meandirwidth,
    prealloc=100, readonly
define fileset name=logfiles, path=$dir, size=$filesize, entries=1, dirwidth=$meandirwidth, prealloc

define process name=filereader, instances=1
{
  thread name=filereaderthread, memsize=10m, instances=$nthreads
  {
    flowop openfile name=openfile1, filesetname=bigfileset, fd=1
    flowop readwholefile name=readfile1, fd=1, iosize=$iosize
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
    flowop openfile name=openfile7, filesetname=bigfileset, fd=1
    flowop readwholefile name=readfile7, fd=1, iosize=$iosize
    flowop closefile name=closefile7, fd=1
    flowop openfile name=openfile8, filesetname=bigfileset, fd=1
    flowop readwholefile name=readfile8, fd=1, iosize=$iosize
    flowop closefile name=closefile8, fd=1
    flowop openfile name=openfile9, filesetname=bigfileset, fd=1
    flowop readwholefile name=readfile9, fd=1, iosize=$iosize
    flowop closefile name=closefile9, fd=1
    flowop openfile name=openfile10, filesetname=bigfileset, fd=1
    flowop readwholefile name=readfile10, fd=1, iosize=$iosize
    flowop closefile name=closefile10, fd=1

    flowop appendfilerand name=appendlog, filesetname=logfiles, iosize=$meanappendsize, fd=2
  }
}

run $runtime
