define fileset name=f,path=$dir,entries=1,dirwidth=1
define process name=p {
  thread name=t {
    flowop statfile name=s,filesetname=f
  }

run 1
