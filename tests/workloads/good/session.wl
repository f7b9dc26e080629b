# A session as filebench 1.4 is used by scripts: processes live, and commands act on them.

usage "Set \$rate=<number>    defaults to 50"
set $rate=50
set $pause=2

define fileset name=f,path=$dir,entries=10,dirwidth=10,size=8k,prealloc
define posset name=spots,type=rnd,entries=100,max=8k,seed=3
define process name=p {
  thread name=t {
    flowop read name=r,filesetname=f,iosize=1k,random,possetname=spots
    flowop eventlimit name=limit
  }
}

warmup 5
enable lathist
debug 2
list
help
eventgen rate=$rate
create processes
warmup $pause
stats directory out
stats command "vmstat 1"
stats clear
sleep $pause
eventgen rate=$rate*2
stats snap
stats dump "snap.$rate"
log "rate ${rate}"
run 10
shutdown files
create processes
sleep 0
