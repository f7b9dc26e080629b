set $a=randvar(type=gausian,mean=1)
set $b=cvar(type=cvar-normal,parameters=mean:1;sgma:2)
set $c=randvar(type=tabular,randtable={{50,1,2},{60,3}})
set $d=8
set $d.mean=9
define randvar name=$e,type=uniform,mean=1,min=5
define process name=p { thread name=t { flowop delay name=w,value=1 } }
run 1
