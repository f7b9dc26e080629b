foreach $v in 1 2, 3 { run $v }
foreach v in 1, 2 { run 1 }
foreach $v 1, 2 { run 1 }
foreach $v in { run 1 }
foreach $v in 1, 2
foreach $v in 1, 2 { flowop read name=r }
foreach $v in 1, 2 { run 1
