# The text of filebench 1.4 has its sizes as filebench 1.4 has them, and this one its own.
define fileset name=new,path=$dir,size=16k,entries=10,dirwidth=10
load old
run 1
