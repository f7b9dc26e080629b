#!/usr/bin/env wlrun
# Comments stand between any two words, and blank lines and unusual layout mean nothing.
set   $dir = /d    # the end of a line
   # define fileset name=ghost,path=$dir

define fileset # between the words of a statement
  name=f,      # between attributes
  path=$dir,
    entries=1 , dirwidth = 1,
  size=1k
define process name=p { thread name=t { # behind a brace
    flowop statfile name=s , filesetname=f } }   # { not a brace
define fileset name=hash,path=/d/#none
,entries=1,dirwidth=1
run 1 # run 100
# no newline at the end