# The style of filebench 1.5: random and custom variables are values.

set mode quit timeout
set $nfiles=25
set $sizes=cvar(type=cvar-lognormal,parameters=shape:1.5;scale:9,min=512,max=1m,round=512)
set $table=randvar(type=tabular, min=1k, randtable={{25, 1k, 2k}, {75, 2k, 4k}})
set $plain=randvar(type=uniform,min=1,mean=5)
set $copy=$sizes

define fileset name="mail",path=$dir,size=$copy,entries=$nfiles,dirwidth=1000000,prealloc=80,reuse,trusttree=false
define file name=journal,path=$dir,size=1m,prealloc,writeonly

define process name=server
{
  thread name=worker,memsize=64k,ioprio=4
  {
    flowop createfile name=create1,filesetname=mail,fd=1
    flowop writewholefile name=write1,fd=1,srcfd=1,iosize=$table
    flowop fsync name=sync1,fd=1
    flowop closefile name=close1,fd=1,iters=1
    flowop appendfile name=log1,filename=journal,iosize=$table,fd=2,dsync
    flowop statfile name=stat1,filesetname=mail
    flowop deletefile name=delete1,filesetname=mail
    flowop delay name=wait1,value=$plain
  }
}

run 10
