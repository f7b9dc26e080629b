# varmail: a mail server that keeps each message in a file of its own, as in /var/mail
#
# In a round a thread deletes a message; receives one (create, write, fsync); reads one and appends to it (write, fsync);
# and reads another. The fsyncs are what a mail server owes its senders, and what this workload measures: the commit
# latency of the file system under many small synchronous writes. All messages lie in one directory. The model follows
# PostMark, with many threads.
#
# The messages are 16 MiB in all as they stand, in memory at once; more of them ($nfiles) cost more metadata, and hardly
# change the fsyncs. Threads ($nthreads) are clients at the same time.

## number of messages, four fifths of which are there at the start
set $nfiles=1000
## mean number of messages of a directory; as it stands all are in one
set $meandirwidth=1000000
## size of a message: a gamma distribution with a mean of 16 KiB, or bytes
set $filesize=cvar(type=cvar-gamma, parameters=mean:16384;gamma:1.5)
## clients at the same time
set $nthreads=16
## largest request, in bytes
set $iosize=1m
## largest append, in bytes; half of it is the mean
set $meanappendsize=16k
## length of the run, in seconds
set $runtime=60

define fileset name=bigfileset, path=$dir, size=$filesize, entries=$nfiles, dirwidth=$meandirwidth,
    prealloc=80

define process name=filereader, instances=1
{
  thread name=filereaderthread, memsize=10m, instances=$nthreads
  {
    flowop deletefile name=deletefile1, filesetname=bigfileset

    flowop createfile name=createfile2, filesetname=bigfileset, fd=1
    flowop appendfilerand name=appendfilerand2, iosize=$meanappendsize, fd=1
    flowop fsync name=fsyncfile2, fd=1
    flowop closefile name=closefile2, fd=1

    flowop openfile name=openfile3, filesetname=bigfileset, fd=1
    flowop readwholefile name=readfile3, fd=1, iosize=$iosize
    flowop appendfilerand name=appendfilerand3, iosize=$meanappendsize, fd=1
    flowop fsync name=fsyncfile3, fd=1
    flowop closefile name=closefile3, fd=1

    flowop openfile name=openfile4, filesetname=bigfileset, fd=1
    flowop readwholefile name=readfile4, fd=1, iosize=$iosize
    flowop closefile name=closefile4, fd=1
  }
}

run $runtime
