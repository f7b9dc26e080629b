define fileset name=f,path=$dir,entries=lots,dirwidth=1,prealloc=120
define process name=p,instances=-1 {
  thread name=t,memsize=4q,ioprio=9 {
    flowop read name=r,filesetname=f,iosize=0,random=maybe
  }
}
run soon
