set $nthreads=4
define fileset name=f,path=$dir,entries=1,dirwidth=1
define process name=p {
  thread name=t,instances=$nthread {
    flowop read name=r,filesetname=f,iosize=4k
  }
}
run $runtime
