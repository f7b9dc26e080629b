define fileset name=f,path=$dir,entries=1,dirwidth=1,size=4k,readonly
define process name=p {
  thread name=t {
    flowop chmod name=c,filesetname=f
    flowop chmod name=d,filesetname=f,mode=0648
    flowop getxattr name=g,filesetname=f,attr=user.wlrun
    flowop getxattr name=h,filesetname=f,attr=plain,iosize=65537
    flowop rename name=r,source=f
    flowop link name=l,filesetname=f,source=nowhere
  }
}
run 1
