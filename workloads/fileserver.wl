# fileserver: users of a file server who make, write, append to, read, delete and stat whole files
#
# Each thread is one user. In a round it makes a file and writes it whole, appends to another, reads a third whole,
# deletes a fourth and asks for the attributes of a fifth: two reads of metadata and data for about two writes, as the
# SPECsfs operation mix has it. Sizes are gamma-distributed, so that most files are small and a few are large.
#
# The set is 1.25 GiB as it stands, which fits in the memory of most machines: raise $nfiles until the files are twice
# the memory, or the reads measure this client's cache. A fifth of the files is left to be made, so that threads always
# find one to create.

## number of files of the set, four fifths of which are there at the start
set $nfiles=10000
## mean number of entries of a directory
set $meandirwidth=20
## size of a file: a gamma distribution with a mean of 128 KiB, or bytes
set $filesize=cvar(type=cvar-gamma, parameters=mean:131072;gamma:1.5)
## users at the same time
set $nthreads=50
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
    flowop createfile name=createfile1, filesetname=bigfileset, fd=1
    flowop writewholefile name=wrtfile1, srcfd=1, fd=1, iosize=$iosize
    flowop closefile name=closefile1, fd=1

    flowop openfile name=openfile1, filesetname=bigfileset, fd=1
    flowop appendfilerand name=appendfilerand1, iosize=$meanappendsize, fd=1
    flowop closefile name=closefile2, fd=1

    flowop openfile name=openfile2, filesetname=bigfileset, fd=1
    flowop readwholefile name=readfile1, fd=1, iosize=$iosize
    flowop closefile name=closefile3, fd=1

    flowop deletefile name=deletefile1, filesetname=bigfileset
    flowop statfile name=statfile1, filesetname=bigfileset
  }
}

run $runtime
