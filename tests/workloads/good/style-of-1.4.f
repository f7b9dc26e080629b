# The style of filebench 1.4: usage, define randvar, fields of a random variable, words side by side.

set $dir=/d
set $owner=$(CARGO_PKG_NAME)
set $sub=$owner
set $nfiles=40
set $files=$nfiles
set $unit=4k
set $twice=$unit * 2
set $rate=100 + 20 / 4 - 5 % 3

define randvar name=$size, type=tabular, min=1k, randtable =
{{ 60, 1k, 8k},
 { 40, 8k, 64k}
}
define randvar name=$depth, type=gamma, mean=3, gamma=1500, randsrc=urandom
define randvar name=$request, type=uniform, mean=8k, min=4k, round=4k

set $request.mean=$twice
set $request.round = 1k

define fileset name=docs,path=$dir/$sub/docs,size=$size,filesizegamma=0,entries=$files,dirwidth=8,dirdepthrv=$depth,prealloc=50,cached=false

define process name=copier,instances=1
{
  thread name=copierthread,memsize=1m,instances=2,useism
  {
    flowop openfile name=open1,filesetname=docs,fd=1
    flowop read name=read1,fd=1,iosize=$request,random,workingset=64k
    flowop closefile name=close1,fd=1
  }
}

echo  "copies of $files files"
usage "set \$dir=<where>"
usage "    the files are in $dir/$sub"

run 30
