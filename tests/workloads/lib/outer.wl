## Of all runs.
set $runtime=2
include "small.wl" nfiles=8, nthreads=7
