define fileset name=f,path=$dir,entries=1,dirwidth=1,leafdirs=10
define flowop name=both, $size { flowop read name=r,filesetname=f,iosize=$size }
define process name=p {
  thread name=t {
    flowop makedir name=m,filesetname=f
    flowop both name=b,$size=4k
  }
}
enable multi
foreach $n in 1,2,4 {
  run 1
}
system "date"
run 1
