define fileset name=f,path=$dir,entries=1,dirwidth=1
define process name=p {
  thread name=t {
    flowop raed name=r,filesetname=f,iosize=4k
  }
}
run 1
