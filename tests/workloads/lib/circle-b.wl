set $b=1
foreach $v in 1, 2 { include "circle-a.wl" }
