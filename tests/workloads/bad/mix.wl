set $share=randvar(type=uniform,mean=3)
define fileset name=f,path=$dir,entries=1,dirwidth=1,size=4k,prealloc
define flowop name=look { flowop statfile name=s,filesetname=f }
define process name=p {
  mix name=outside { flowop look name=l1 }
  thread name=t,weight=3 {
    flowop statfile name=s1,filesetname=f,weight=2
    flowop look name=l2,weight=2
    mix name=nothing { }
    mix name=zero,weight=1 {
      flowop look name=l3,weight=0
      mix weight=0 { flowop statfile name=s2,filesetname=f,weight=0 }
    }
    mix name=wrong,iter=2 {
      flowop statfile name=s3,filesetname=f,weight=-1
      flowop statfile name=s4,filesetname=f,weight=lots
      flowop statfile name=s5,filesetname=f,weight=$share
      flowop statfile name=s6,filesetname=f,weight
    }
  }
}
run 1
