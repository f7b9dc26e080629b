include "circle-a.wl"
run 1
