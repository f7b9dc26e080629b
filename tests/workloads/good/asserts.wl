# Asserts: before and after the runs they are of, each kind of limit, arithmetic, and each way to name a flowop.
set $limit=5ms
define fileset name=f,path=$dir,entries=10,dirwidth=10,size=64k,prealloc
define flowop name=visit { flowop statfile name=stat,filesetname=f }
define process name=p
{
  thread name=t,memsize=64k
  {
    flowop read name=read1,filesetname=f,iosize=4k,random
    flowop visit name=use
  }
  thread name=u,memsize=64k
  {
    flowop read name=read1,filesetname=f,iosize=4k,random
  }
}
assert use.stat.max < $limit * 2 - 500us
run 1
assert p.t.read1.p99.9 <= 1.5ms
assert p.u.read1.p99_9<=1500us
assert total.errors == 0
run 2
set $limit=1
assert reads.bytes_per_s >= 100m
assert writes.ops != 1k
assert total.MB/s > 2.5 * $limit
assert total.ops/s>0.5
