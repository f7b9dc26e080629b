# Five mistakes of five kinds; each is shown, with its place.
set $nfiles=1000
define fileset name=data,path=$dir,entries=$nfile,dirwidth=20,size=4kk
define process name=p,instances=2
{
  thread name=t,instances=2
  {
    flowop opnfile name=open1,filesetname=data,fd=1
    flowop read name=read1,fd=1,iosize=4k,workinset=64k
    flowop closefile name=close1,fd=1
    flowop statfile name=stat1,filesetname=dta
  }
}
run 60
