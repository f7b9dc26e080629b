define fileset name=f,path=$dir,entries=10,dirwidth=10,size=8k,prealloc
define process name=p {
  thread name=t {
    flowop read name=r,filesetname=f,iosize=1k,random,possetname=sopts
  }
}
define posset name=spots,type=rnd,entries=0,max=8k
define posset name=spots,type=rnd,entries=1,max=8k
stats snap
stats dump "early"
sleep 0
create processes
create processes
shutdown files
shutdown everything
stats snop
stats directory
create fiels
enable lathistt
list flowps
run 1
