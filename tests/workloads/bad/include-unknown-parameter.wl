set $runtime=1
include "small.wl" nfile=3, nthreads
