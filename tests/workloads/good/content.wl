# How data compresses and repeats.
define fileset name=a,path=$dir,entries=10,dirwidth=10,size=64k,prealloc,compress=2.5,dedup=3
define file name=b,path=$dir,size=1m,dedup=1.5
define process name=p { thread name=t { flowop write name=w,filesetname=b,iosize=8k,random } }
run 1
