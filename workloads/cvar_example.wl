# cvar_example: an example of a custom variable, as the size of each read of one file
#
# In a round the thread opens the file, reads from its start a number of bytes that a cvar draws anew each time (4 to 8
# KiB, each as likely) and closes it. It models no program; it shows how a distribution is written and used.
#
# After the first read the data is in memory, whatever $filesize is. `--set iosize=4k` puts a constant in the place of
# the distribution of $iosize.

## size of the file, in bytes
set $filesize=100m
## bytes of each read: a random variable, or a number
set $iosize=cvar(type=cvar-uniform, parameters=lower:4096;upper:8192)
## length of the run, in seconds
set $runtime=60

define file name=singlefile, path=$dir, size=$filesize, prealloc

define process name=filereader, instances=1
{
  thread name=filereader, memsize=1m, instances=1
  {
    flowop openfile name=open1, filesetname=singlefile, fd=1
    flowop read name=read1, fd=1, iosize=$iosize
    flowop closefile name=close1, fd=1
  }
}

run $runtime
