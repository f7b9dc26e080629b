# tpcso: a data base of thirty files of very different size, with many readers, a few writers and a log
#
# As in oltp, each shadow process stands for a user: here it reads one block of each file in turn, computing in between,
# and posts that it has changed something. The data base writers write ten random blocks into each data file by
# asynchronous I/O for every $dbchanges posts, the log writer 256 KiB for every $logchanges. The model is the I/O of an
# Oracle data base under TPC-C, with its tables, indices, undo and temporary
# space as files: a few hot small ones, and large ones that no cache holds.
#
# The sizes are those of the model in MiB, times $unit: 140 GiB at --set unit=1m, and a hundredth of that as it stands.
# Everything is direct I/O (--set directio=0 makes it cached), so $iosize is a multiple of the block size of the device.
# $nshadows users and $ndbwriters writers are a process each, with $memperthread of memory; $usermode is the length of a
# user's computing, in stores to memory. $eventrate limits the transactions per second of all users together.

## bytes that stand for a MiB of the model
set $unit=10k
## transactions per second of all users together; 0 is no limit
set $eventrate=0
## bytes of one read, and of one write into the data files
set $iosize=4k
## users, a process each
set $nshadows=200
## data base writers, a process each
set $ndbwriters=10
## length of a user's computing between two reads, in stores to memory
set $usermode=20000
## memory of each thread, in bytes
set $memperthread=1m
## changes of users that the log writer waits for
set $logchanges=320
## changes of users that a data base writer waits for
set $dbchanges=100
## 1: past the page cache (O_DIRECT)
set $directio=1
## length of the run, in seconds
set $runtime=60

eventgen rate=$eventrate

define file name=aux.df, path=$dir, size=251 * $unit, prealloc, reuse
define file name=control_001, path=$dir, size=2 * $unit, prealloc, reuse
define file name=cust_0_0, path=$dir, size=6704 * $unit, prealloc, reuse
define file name=cust_0_1, path=$dir, size=6704 * $unit, prealloc, reuse
define file name=cust_0_2, path=$dir, size=6704 * $unit, prealloc, reuse
define file name=cust_0_3, path=$dir, size=6704 * $unit, prealloc, reuse
define file name=dist_0_0, path=$dir, size=31 * $unit, prealloc, reuse
define file name=hist_0_0, path=$dir, size=3002 * $unit, prealloc, reuse
define file name=icust1_0_0, path=$dir, size=4943 * $unit, prealloc, reuse
define file name=icust2_0_0, path=$dir, size=4943 * $unit, prealloc, reuse
define file name=idist_0_0, path=$dir, size=11 * $unit, prealloc, reuse
define file name=iitem_0_0, path=$dir, size=11 * $unit, prealloc, reuse
define file name=iordr2_0_0, path=$dir, size=1651 * $unit, prealloc, reuse
define file name=istok_0_0, path=$dir, size=2262 * $unit, prealloc, reuse
define file name=item_0_0, path=$dir, size=21 * $unit, prealloc, reuse
define file name=iware_0_0, path=$dir, size=11 * $unit, prealloc, reuse
define file name=nord_0_0, path=$dir, size=561 * $unit, prealloc, reuse
define file name=ordr_0_0, path=$dir, size=44301 * $unit, prealloc, reuse
define file name=roll1, path=$dir, size=2001 * $unit, prealloc, reuse
define file name=sp_0, path=$dir, size=1001 * $unit, prealloc, reuse
define file name=stok_0_0, path=$dir, size=8052 * $unit, prealloc, reuse
define file name=stok_0_1, path=$dir, size=8052 * $unit, prealloc, reuse
define file name=stok_0_2, path=$dir, size=8052 * $unit, prealloc, reuse
define file name=stok_0_3, path=$dir, size=8052 * $unit, prealloc, reuse
define file name=stok_0_4, path=$dir, size=8052 * $unit, prealloc, reuse
define file name=system_1, path=$dir, size=401 * $unit, prealloc, reuse
define file name=temp_0_0, path=$dir, size=4943 * $unit, prealloc, reuse
define file name=temp_0_1, path=$dir, size=4943 * $unit, prealloc, reuse
define file name=ware_0_0, path=$dir, size=11 * $unit, prealloc, reuse
define file name=log_1_1, path=$dir, size=1021 * $unit, prealloc, reuse

define flowop name=dbwrite, $file, $slot
{
  flowop aiowrite name=aiowrite, filename=$file, fd=$slot, iosize=$iosize, random, dsync,
      directio=$directio, iters=10
}

define flowop name=lookup, $file, $slot
{
  flowop read name=read, filename=$file, fd=$slot, iosize=$iosize, random, directio=$directio
  flowop hog name=hog, value=$usermode
}

define process name=lgwr, instances=1
{
  thread name=lgwr, memsize=$memperthread
  {
    flowop write name=lg-write, filename=log_1_1, fd=1, iosize=256k, random, dsync,
        directio=$directio
    flowop semblock name=lg-block, value=$logchanges, highwater=1000
  }
}

define process name=dbwr, instances=$ndbwriters
{
  thread name=dbwr, memsize=$memperthread
  {
    flowop dbwrite name=aux.df, $file=aux.df, $slot=1
    flowop dbwrite name=control_001, $file=control_001, $slot=2
    flowop dbwrite name=cust_0_0, $file=cust_0_0, $slot=3
    flowop dbwrite name=cust_0_1, $file=cust_0_1, $slot=4
    flowop dbwrite name=cust_0_2, $file=cust_0_2, $slot=5
    flowop dbwrite name=cust_0_3, $file=cust_0_3, $slot=6
    flowop dbwrite name=dist_0_0, $file=dist_0_0, $slot=7
    flowop dbwrite name=hist_0_0, $file=hist_0_0, $slot=8
    flowop dbwrite name=icust1_0_0, $file=icust1_0_0, $slot=9
    flowop dbwrite name=icust2_0_0, $file=icust2_0_0, $slot=10
    flowop dbwrite name=idist_0_0, $file=idist_0_0, $slot=11
    flowop dbwrite name=iitem_0_0, $file=iitem_0_0, $slot=12
    flowop dbwrite name=iordr2_0_0, $file=iordr2_0_0, $slot=13
    flowop dbwrite name=istok_0_0, $file=istok_0_0, $slot=14
    flowop dbwrite name=item_0_0, $file=item_0_0, $slot=15
    flowop dbwrite name=iware_0_0, $file=iware_0_0, $slot=16
    flowop dbwrite name=nord_0_0, $file=nord_0_0, $slot=17
    flowop dbwrite name=ordr_0_0, $file=ordr_0_0, $slot=18
    flowop dbwrite name=roll1, $file=roll1, $slot=19
    flowop dbwrite name=sp_0, $file=sp_0, $slot=20
    flowop dbwrite name=stok_0_0, $file=stok_0_0, $slot=21
    flowop dbwrite name=stok_0_1, $file=stok_0_1, $slot=22
    flowop dbwrite name=stok_0_2, $file=stok_0_2, $slot=23
    flowop dbwrite name=stok_0_3, $file=stok_0_3, $slot=24
    flowop dbwrite name=stok_0_4, $file=stok_0_4, $slot=25
    flowop dbwrite name=system_1, $file=system_1, $slot=26
    flowop dbwrite name=temp_0_0, $file=temp_0_0, $slot=27
    flowop dbwrite name=temp_0_1, $file=temp_0_1, $slot=28
    flowop dbwrite name=ware_0_0, $file=ware_0_0, $slot=29
    flowop hog name=dbwr-hog, value=10000
    flowop semblock name=dbwr-block, value=$dbchanges, highwater=10000
    flowop aiowait name=dbwr-aiowait
  }
}

define process name=shadow, instances=$nshadows
{
  thread name=shadow, memsize=$memperthread
  {
    flowop lookup name=aux.df, $file=aux.df, $slot=1
    flowop lookup name=control_001, $file=control_001, $slot=2
    flowop lookup name=cust_0_0, $file=cust_0_0, $slot=3
    flowop lookup name=cust_0_1, $file=cust_0_1, $slot=4
    flowop lookup name=cust_0_2, $file=cust_0_2, $slot=5
    flowop lookup name=cust_0_3, $file=cust_0_3, $slot=6
    flowop lookup name=dist_0_0, $file=dist_0_0, $slot=7
    flowop lookup name=hist_0_0, $file=hist_0_0, $slot=8
    flowop lookup name=icust1_0_0, $file=icust1_0_0, $slot=9
    flowop lookup name=icust2_0_0, $file=icust2_0_0, $slot=10
    flowop lookup name=idist_0_0, $file=idist_0_0, $slot=11
    flowop lookup name=iitem_0_0, $file=iitem_0_0, $slot=12
    flowop lookup name=iordr2_0_0, $file=iordr2_0_0, $slot=13
    flowop lookup name=istok_0_0, $file=istok_0_0, $slot=14
    flowop lookup name=item_0_0, $file=item_0_0, $slot=15
    flowop lookup name=iware_0_0, $file=iware_0_0, $slot=16
    flowop lookup name=nord_0_0, $file=nord_0_0, $slot=17
    flowop lookup name=ordr_0_0, $file=ordr_0_0, $slot=18
    flowop lookup name=roll1, $file=roll1, $slot=19
    flowop lookup name=sp_0, $file=sp_0, $slot=20
    flowop lookup name=stok_0_0, $file=stok_0_0, $slot=21
    flowop lookup name=stok_0_1, $file=stok_0_1, $slot=22
    flowop lookup name=stok_0_2, $file=stok_0_2, $slot=23
    flowop lookup name=stok_0_3, $file=stok_0_3, $slot=24
    flowop lookup name=stok_0_4, $file=stok_0_4, $slot=25
    flowop lookup name=system_1, $file=system_1, $slot=26
    flowop lookup name=temp_0_0, $file=temp_0_0, $slot=27
    flowop lookup name=temp_0_1, $file=temp_0_1, $slot=28
    flowop lookup name=ware_0_0, $file=ware_0_0, $slot=29
    flowop lookup name=log_1_1, $file=log_1_1, $slot=30
    flowop sempost name=shadow-post-lg, value=1, target=lg-block, blocking
    flowop sempost name=shadow-post-dbwr, value=1, target=dbwr-block, blocking
    flowop eventlimit name=random-rate
  }
}

run $runtime
