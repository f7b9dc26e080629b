foreach $a in 1,2,3,4,5,6,7,8,9,10 { foreach $b in 1,2,3,4,5,6,7,8,9,10 { foreach $c in 1,2,3,4,5,6,7,8,9,10 {
  foreach $d in 1,2,3,4,5,6,7,8,9,10 { foreach $e in 1,2,3,4,5,6,7,8,9,10 { foreach $f in 1,2,3,4,5,6,7,8,9,10 {
    set $x=$a*$b*$c
  } } }
} } }
define process name=p { thread name=t { flowop delay name=d,value=1 } }
run 1
