# Two sets of each size, and a run for each number of threads.
foreach $name in a, "b"
{
  set $width=10
  foreach $size in 4k, $width * 2
  {
    define fileset name=$name-$size,path=$dir,entries=10,size=$size,dirwidth=$width
    set $width=20
  }
}
define process name=p { thread name=t,instances=$n { flowop statfile name=s,filesetname=a-4096 } }
foreach ${n} in 1, 2
{
  echo "$n threads, $width wide"
  run $n
}
