# In quotes a value may hold anything: commas, blanks, braces, a number sign, escaped quotes, variables.

set $where="/d/with blank"
set $word="a,b"
set $n="64"

define fileset name="set #1, {x}",path="$where/${word}-$n",entries=3,dirwidth=3,size=1k,prealloc
define process name="p \"one\""
{
  thread name="two words"
  {
    flowop statfile name="stat,1",filesetname="set #1, {x}"
  }
}
echo "say \"hello\" to $n files in $where"
run 1
