# Each distribution is a function, as a variable's value or an attribute's.
set $size=lognormal(shape=1, scale=10, min=1k, max=1g, round=4k)
set $rank=zipf(theta=1.1, n=1000)
set $think=exponential(mean=0.001)
define fileset name=f,path=$dir,entries=100,dirwidth=10,size=$size,prealloc
define process name=p
{
  thread name=t
  {
    flowop read name=r,filesetname=f,indexed=$rank,iosize=uniform(lower=4k, upper=64k, seed=5)
    flowop read name=s,filesetname=f,iosize=tabular(table={{50,1k,4k},{50,8k,16k}}, min=1k)
    flowop closefile name=c
    flowop delay name=d,value=$think
    flowop testrandvar name=v,value=cvar(type=cvar-pareto,parameters=shape:1.5;scale:4k)
    flowop hog name=h,value=poisson(mean=40),iters=constant(value=2)
  }
}
run 1
