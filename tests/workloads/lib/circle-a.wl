set $a=1
include "circle-b.wl"
