# Composite flowops: local variables with and without a value of their own, one within another, iters at each place.
set $size=4k
define fileset name=f,path=$dir,entries=10,dirwidth=10,size=$size,prealloc
define flowop name=look, $how=2
{
  flowop statfile name=stat,filesetname=f,iters=$how
}
define flowop name=visit, $times, $io=1k
{
  flowop openfile name=open,filesetname=f,fd=1
  flowop look name=again, $how=$times
  flowop read name=read,fd=1,iosize=$io
  flowop closefile name=close,fd=1
  flowop finishoncount name=enough,value=1000000,target=read
}
define process name=p
{
  thread name=t,memsize=64k
  {
    flowop look name=first
    flowop visit name=second,iters=3,$times=5,$io=$size
  }
}
run 1
