foreach $v in 1, 2, 3
{
  define fileset name=set,path=$dir,entries=$v,dirwidth=10
  set $x=$nothing
  define process name=p$v,instances=-$v { thread name=t { flowop statfile name=s,filesetname=st } }
  foreach $w in 4, 5 { define process name=q { thread name=t { flowop delay name=d,value=$w } } }
}
foreach $u in $missing { echo $u }
foreach $dir in "/a", "/b" { echo $dir }
run 1
