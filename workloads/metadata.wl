# metadata: the phases of mdtest: directories and files that are made, asked about and removed
#
# Seven runs follow each other, and each has its own table: directories are made, asked for their attributes, removed;
# empty files are created, asked for their attributes, opened and read, removed. A run ends when all are done, so
# operations per second are those that mdtest prints as a phase's rate. No data is moved: what is measured is the name
# space of the file system.
#
# 20000 of each are there in a moment: raise $items until each run takes a minute. $nthreads work at the same time and
# share the tree, as mdtest's tasks do without its option -u; $meandirwidth is the mean number of entries of a
# directory. With --runtime no run takes longer than that, and what is left over is missing in the next.

## number of directories, and of files
set $items=20000
## mean number of entries of a directory
set $meandirwidth=1000
## threads that do this at the same time
set $nthreads=8

set mode quit alldone

define fileset name=directories, path=$dir, leafdirs=$items, dirwidth=$meandirwidth
define fileset name=files, path=$dir, size=0, entries=$items, dirwidth=$meandirwidth

# Which of the processes has an instance is set before each run.
set $dircreate=1
set $dirstat=0
set $dirremove=0
set $filecreate=0
set $filestat=0
set $fileread=0
set $fileremove=0

define process name=dircreate, instances=$dircreate
{
  thread name=dircreate, instances=$nthreads
  {
    flowop makedir name=dircreate, filesetname=directories
  }
}

define process name=dirstat, instances=$dirstat
{
  thread name=dirstat, instances=$nthreads
  {
    flowop statdir name=dirstat, filesetname=directories
    flowop finishoncount name=dirsstatted, value=$items
  }
}

define process name=dirremove, instances=$dirremove
{
  thread name=dirremove, instances=$nthreads
  {
    flowop removedir name=dirremove, filesetname=directories
  }
}

define process name=filecreate, instances=$filecreate
{
  thread name=filecreate, instances=$nthreads
  {
    flowop createfile name=filecreate, filesetname=files, fd=1
    flowop closefile name=filecreateclose, fd=1
  }
}

define process name=filestat, instances=$filestat
{
  thread name=filestat, instances=$nthreads
  {
    flowop statfile name=filestat, filesetname=files
    flowop finishoncount name=filesstatted, value=$items
  }
}

define process name=fileread, instances=$fileread
{
  thread name=fileread, instances=$nthreads
  {
    flowop openfile name=fileopen, filesetname=files, fd=1
    flowop readwholefile name=fileread, fd=1, iosize=1m
    flowop closefile name=fileclose, fd=1
    flowop finishoncount name=filesread, value=$items * 3
  }
}

define process name=fileremove, instances=$fileremove
{
  thread name=fileremove, instances=$nthreads
  {
    flowop deletefile name=fileremove, filesetname=files
  }
}

run

set $dircreate=0
set $dirstat=1
run

set $dirstat=0
set $dirremove=1
run

set $dirremove=0
set $filecreate=1
run

set $filecreate=0
set $filestat=1
run

set $filestat=0
set $fileread=1
run

set $fileread=0
set $fileremove=1
run
