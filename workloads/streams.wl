# streams: sequential readers, writers, or both, each with a file of its own
#
# Each reader reads its file from start to end, $iosize bytes at a time, and begins again; each writer writes its file in
# the same way. That is what people start N parallel dd for: the bandwidth that several streams get from one storage, and
# how evenly they share it (each reader and each writer is a process, and a row of the record by process tells them
# apart). The first lap of a writer allocates its file, the laps after that overwrite it.
#
# `--set writers=0` leaves the readers, `--set readers=0` the writers. $filesize times $readers should be at least twice
# the memory, or say `--set directio=1` ($directio; $iosize is then a multiple of the block size); as it stands the
# reads measure the cache. A second run keeps the files that are read.

## processes that read
set $readers=4
## processes that write
set $writers=4
## bytes of one request
set $iosize=1m
## size of each file, in bytes
set $filesize=1g
## 1: past the page cache (O_DIRECT)
set $directio=0
## length of the run, in seconds
set $runtime=60

define fileset name=readset, path=$dir, size=$filesize, entries=$readers, dirwidth=1024, prealloc,
    reuse
define fileset name=writeset, path=$dir, size=0, entries=$writers, dirwidth=1024, prealloc

define process name=reader, instances=$readers
{
  thread name=reader, instances=1
  {
    flowop read name=streamread, filesetname=readset, iosize=$iosize, directio=$directio
  }
}

define process name=writer, instances=$writers
{
  thread name=writer, instances=1
  {
    flowop write name=streamwrite, filesetname=writeset, iosize=$iosize, workingset=$filesize, wrap,
        directio=$directio
  }
}

run $runtime
