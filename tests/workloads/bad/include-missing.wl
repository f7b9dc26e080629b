include "smal.wl"
include "filserver"
load nothing-like-it
load smal
include "../lib"
set $a=1
include "$a.wl"
include
include "small.wl" "outer.wl"
load small nfiles=1
# What is missing may have said what these are.
define process name=p,instances=$count { thread name=t { flowop statfile name=s,filesetname=unknown } }
