# No length: each thread ends by itself.

set mode quit alldone
define fileset name=f,path=$dir,entries=10,dirwidth=10,size=1k,prealloc
define process name=p
{
  thread name=counter
  {
    flowop statfile name=stat1,filesetname=f
    flowop finishoncount name=end1,value=100,target=stat1
  }
  thread name=remover
  {
    flowop deletefile name=delete1,filesetname=f
    flowop finishonbytes name=end2,value=1m
  }
}
run
