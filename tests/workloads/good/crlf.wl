# Lines end as on another system.
set $n=2

define fileset name=f,path=$dir,
  entries=$n,dirwidth=2,size=1k
define process name=p
{
  thread name=t
  {
    flowop statfile name=s,filesetname=f # comment
  }
}
echo "two lines"
run 1
