define fileset name=f,path=$dir,entires=1,dirwidth=1
define process name=p,instance=2 {
  thread name=t,memsiz=4k {
    flowop read name=r,filesetname=f,iosize=4k,randm
  }
}
run 1
