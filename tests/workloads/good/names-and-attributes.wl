# Flowops that filebench does not have.
define fileset name=full,path=$dir,entries=10,dirwidth=5,size=4k,prealloc
define fileset name=half,path=$dir,entries=10,dirwidth=5,size=4k,prealloc=50
define fileset name=links,path=$dir,entries=10,dirwidth=5,size=4k
define process name=p {
  thread name=t {
    flowop rename name=moves,filesetname=half
    flowop rename name=cannot,filesetname=full
    flowop symlink name=symlink1,filesetname=links,source=full
    flowop link name=link1,filesetname=half,source=full
    flowop chmod name=chmod1,filesetname=half,mode=0640
    flowop setxattr name=set1,filesetname=half,attr=user.x,iosize=1k
    flowop getxattr name=get1,filesetname=half
  }
}
run 1
