define fileset name=f,entries=1,dirwidth=1
define process {
  thread name=t { flowop delay name=d,value=1 }
}
define process name=p {
  thread name=t {
    flowop read filesetname=f
  }
}
run 1
