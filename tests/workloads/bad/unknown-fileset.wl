define fileset name=bigfileset,path=$dir,entries=1,dirwidth=1
define process name=p {
  thread name=t {
    flowop read name=r,filesetname=bigfilset,iosize=4k
    flowop read name=s,filesetname=elsewhere,iosize=4k
  }
}
run 1
