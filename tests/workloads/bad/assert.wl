set $some=randvar(type=uniform,mean=3)
define fileset name=f,path=$dir,entries=1,dirwidth=1,size=4k,prealloc
define process name=p {
  thread name=t {
    flowop statfile name=stat1,filesetname=f
    flowop statfile name=twice,filesetname=f
    flowop statfile name=twice,filesetname=f
  }
  thread name=u {
    flowop statfile name=both,filesetname=f
  }
  thread name=v {
    flowop statfile name=both,filesetname=f
  }
}
assert stat2.p99 < 5ms
run 1
assert stat1.p98 < 5ms
assert stat1.p99.5 < 5ms
assert stat1 < 5ms
assert both.max < 5ms
assert twice.max < 5ms
assert totl.ops > 5
assert stat1.p99 < 5
assert stat1.mean < 5k
assert stat1.ops > 1.5
assert stat1.ops > 5ms
assert total.ops_per_s > -1
assert total.MB/s > 5s
assert stat1.max < $limit
assert stat1.max < $some
assert stat1.max < 5ms * 2ms
