# A variable over ranks gets the number of entries of each set that it picks from.
set $hot=hotspot(share=90, of=10, scramble=1)
define fileset name=a,path=$dir,entries=100,dirwidth=10,size=4k,prealloc=50
define fileset name=b,path=$dir,entries=7,dirwidth=10,size=4k,leafdirs=30,prealloc
define process name=p
{
  thread name=t
  {
    flowop openfile name=o1,filesetname=a,fd=1,pick=$hot
    flowop closefile name=c1,fd=1
    flowop statfile name=s1,filesetname=b,pick=$hot
    flowop makedir name=m1,filesetname=b,pick=$hot
    flowop createfile name=n1,filesetname=a,fd=1,pick=random
    flowop closefile name=c2,fd=1
    flowop deletefile name=d1,filesetname=a,pick=rotation
    flowop statfile name=s2,filesetname=a,pick=zipf(theta=0.9, n=5)
    flowop statfile name=s3,filesetname=a,pick=normal(mean=50, sigma=9)
  }
}
run 1
