define fileset name=f,path=$dir,entries=1,dirwidth=1,size=4k,readonly
define fileset name=log,path=$dir,entries=1,dirwidth=1,size=4k,writeonly
define process name=p {
  thread name=t {
    flowop openfile name=o,filesetname=f,fd=1
    flowop write name=w,fd=1,iosize=4k
    flowop read name=r,filesetname=log,fd=2,iosize=4k
  }
}
run 1
