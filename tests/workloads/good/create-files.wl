# What is created by command is not created again by run; what is defined later is.

define fileset name=early,path=$dir,entries=2,dirwidth=2,size=1k,prealloc,paralloc
create fileset
define file name=late,path=/d/other,size=1k,readonly
define process name=p
{
  thread name=t
  {
    flowop read name=r,filesetname=early,iosize=1k,fd=1
    flowop readwholefile name=s,filename=late,fd=2
  }
}
create files
run 1
