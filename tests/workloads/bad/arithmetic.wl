set $zero=0
set $a=1/$zero
set $b=10 / $zero
set $c=9223372036854775807 + 1
set $d="word" * 2
set $e=99999999999999999999
define process name=p { thread name=t { flowop delay name=w,value=1 } }
run 1
