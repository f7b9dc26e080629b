# The parameters of an include hold against the sets of its text, and no longer.
set $runtime=1
include "outer.wl" runtime=3, nthreads=$runtime + 4
set $runtime=9
set $nthreads=1
run $runtime
