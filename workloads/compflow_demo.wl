# compflow_demo: an example of composite flowops, three groups of users with a file set each
#
# `dowork` makes a file, appends to it and closes it, copies files of the set onto each other, deletes one and asks for
# the attributes of another. The copying is a composite flowop of its own, `readwrite`, which each group repeats as often
# as it likes. It models no program; it shows how local variables and nesting are written.
#
# Each of the three sets has 88 MiB as it stands, four fifths of which are there at the start. $nfiles and $filesize size
# a set, $nthreads is the number of users in each group, $meandirwidth the mean number of entries of a directory, and
# $meaniosize the largest append.

## number of files of each of the three sets, four fifths of which are there at the start
set $nfiles=700
## mean number of entries of a directory
set $meandirwidth=20
## size of each file, in bytes
set $filesize=128k
## users in each of the three groups
set $nthreads=10
## largest append, in bytes; half of it is the mean
set $meaniosize=16k
## length of the run, in seconds
set $runtime=60

define fileset name=bigfileset, path=$dir, size=$filesize, entries=$nfiles, dirwidth=$meandirwidth,
    prealloc=80
define fileset name=u2fileset, path=$dir, size=$filesize, entries=$nfiles, dirwidth=$meandirwidth,
    prealloc=80
define fileset name=u3fileset, path=$dir, size=$filesize, entries=$nfiles, dirwidth=$meandirwidth,
    prealloc=80

define flowop name=readwrite, $set
{
  flowop openfile name=openfile4, filesetname=$set, fd=1
  flowop openfile name=openfile5, filesetname=$set, fd=2
  flowop readwholefile name=readfile1, fd=1
  flowop writewholefile name=writefile1, fd=2, srcfd=1
  flowop closefile name=closefile4, fd=1
  flowop closefile name=closefile5, fd=2
}

define flowop name=dowork, $set, $copies=1
{
  flowop createfile name=createfile1, filesetname=$set, fd=1
  flowop appendfilerand name=appendfilerand1, iosize=$meaniosize, fd=1
  flowop closefile name=closefile1, fd=1
  flowop readwrite name=rw1, iters=$copies, $set=$set
  flowop deletefile name=deletefile1, filesetname=$set
  flowop statfile name=statfile1, filesetname=$set
}

define process name=filereader1, instances=1
{
  thread name=user1, memsize=10m, instances=$nthreads
  {
    flowop dowork name=dowork1, $set=bigfileset, $copies=5
  }
  thread name=user2, memsize=10m, instances=$nthreads
  {
    flowop dowork name=dowork2, $set=u2fileset, $copies=4
  }
  thread name=user3, memsize=10m, instances=$nthreads
  {
    flowop dowork name=dowork3, $set=u3fileset, $copies=3
  }
}

run $runtime
