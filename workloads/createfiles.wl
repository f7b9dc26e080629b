# createfiles: many threads that fill an empty tree with small files
#
# In a round a thread creates a file, writes it whole and closes it. The run ends when all files are there, however long
# that takes. It measures what a new file costs: directory entries, allocation, and how far threads hinder each other in
# it. Nothing is flushed, so most of the data is still in memory at the end.
#
# 50000 files are 780 MiB as they stand, gamma-distributed around $meanfilesize. $nfiles makes the run longer, $nthreads
# more parallel; a large $meandirwidth brings the threads together in few directories.

## number of files to make
set $nfiles=50000
## mean number of entries of a directory
set $meandirwidth=100
## mean size of a file, in bytes
set $meanfilesize=16k
## size of a file: a gamma distribution around $meanfilesize, or bytes
set $filesize=randvar(type=gamma, mean=$meanfilesize, gamma=1500)
## largest request, in bytes
set $iosize=1m
## threads that create at the same time
set $nthreads=16

set mode quit firstdone

define fileset name=bigfileset, path=$dir, size=$filesize, entries=$nfiles, dirwidth=$meandirwidth

define process name=filecreate, instances=1
{
  thread name=filecreatethread, memsize=10m, instances=$nthreads
  {
    flowop createfile name=createfile1, filesetname=bigfileset, fd=1
    flowop writewholefile name=writefile1, fd=1, iosize=$iosize
    flowop closefile name=closefile1, fd=1
  }
}

run
