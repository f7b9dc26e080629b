# Three processes with five kinds of threads; flowop names are of a thread, so they may come again in another.

define fileset name=shared,path=$dir,entries=64,dirwidth=8,size=16k,prealloc=100
define fileset name=private,path=$dir/more,entries=8,dirwidth=8,size=4k,prealloc=0

define process name=readers,instances=4,nice=10
{
  thread name=whole,instances=2 { flowop readwholefile name=op1,filesetname=shared,iosize=4k }
  thread name=parts,instances=3,memsize=1m { flowop read name=op1,filesetname=shared,iosize=4k,random,directio,opennext }
}
define process name=writers,instances=2
{
  thread name=whole { flowop writewholefile name=op1,filesetname=shared,indexed=3,iosize=4k }
  thread name=parts {
    flowop write name=op1,filesetname=shared,iosize=512,random,wss=8k,fd=5
    flowop opslimit name=limit1
  }
}
define process name=makers
{
  thread name=one
  {
    flowop createfile name=make1,filesetname=private
    flowop closefile name=close1
    flowop deletefile name=delete1,filesetname=private
  }
}
eventgen rate=500
run 5
