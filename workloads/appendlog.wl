# appendlog: a log that is appended to and flushed, by each writer for itself or for a group at once
#
# Each writer appends a record to a log of its own and flushes it, over and over: the rate of commits that a storage
# gives to who waits for each. With `--set group=1` ($group) there is one log: writers hand their records over and wait,
# and a log writer appends those of all writers, flushes once, and lets them go on. That is the group commit of data
# bases, and the difference of the two is what it brings.
#
# $nthreads are writers at the same time, $recordsize is the size of a record. The logs grow with the run, by $recordsize
# for each commit. In the figures of the group a commit is one `fsync` for $nthreads records; the latency that a writer
# sees is that of `committed`.

## 1: one log for all writers, flushed once for the records of all
set $group=0
## writers
set $nthreads=16
## bytes of one record
set $recordsize=4k
## length of the run, in seconds
set $runtime=60

define fileset name=logs, path=$dir, size=0, entries=$nthreads, dirwidth=100000, prealloc
define file name=grouplog, path=$dir, size=0, prealloc

define process name=alone, instances=1 - $group
{
  thread name=writer, instances=$nthreads
  {
    flowop appendfile name=append, filesetname=logs, iosize=$recordsize, fd=1
    flowop fsync name=fsync, fd=1
  }
}

define process name=together, instances=$group
{
  thread name=member, instances=$nthreads
  {
    flowop sempost name=handed-over, target=collect, value=1
    flowop semblock name=committed, value=1
  }
  thread name=logwriter, instances=1
  {
    flowop semblock name=collect, value=$nthreads
    flowop appendfile name=groupappend, filename=grouplog, iosize=$recordsize * $nthreads, fd=1
    flowop fsync name=groupfsync, fd=1
    flowop sempost name=done, target=committed, value=1
  }
}

run $runtime
