# Mixes: weights that are numbers, fractions and variables; nested, in a composite, as a target, and as all of a thread.
set $read=70
define fileset name=f,path=$dir,entries=10,dirwidth=10,size=64k,prealloc
define flowop name=visit, $look=1
{
  mix iters=2 {
    flowop statfile name=stat,filesetname=f,weight=$look
    flowop listdir name=list,filesetname=f,weight=0.5
  }
}
define process name=p
{
  thread name=only,memsize=64k
  {
    mix name=access {
      flowop read name=r,filesetname=f,iosize=4k,random,weight=$read
      flowop write name=w,filesetname=f,iosize=4k,random,weight=100 - $read
      mix weight=0 { flowop fsync name=sync,filesetname=f }
    }
  }
  thread name=more,memsize=64k
  {
    mix iters=randvar(type=uniform,mean=3) {
      flowop visit name=often,$look=3,weight=2
      flowop delay name=mix,value=1ms
    }
    flowop finishoncount name=enough,value=1000,target=often.stat
  }
}
run 1
