set $a=zpif(theta=1)
set $b=zipf(tehta=1)
set $c=pareto(shape=1)
set $d=empirical(values=3)
set $e=hotspot(share=many)
set $f=zipf(theta=1.2)
set $f.theta=2
define fileset name=f,path=$dir,entries=9,dirwidth=3,size=$f,compress=0.5,dedup=true
define process name=p
{
  thread name=t
  {
    flowop statfile name=s1,filesetname=f,pick=zipfian
    flowop statfile name=s2,filesetname=f,pick=random,indexed=3
    flowop read name=r1,fd=1,iosize=1k,pick=random
    flowop delay name=d1,value=$f
  }
}
run 1
