define process name=p {
  thread name=t {
    flowop delay name=wait1,value=1ms
  }
}
run 1
assert wait1.max = 5ms
assert wait1.max => 5ms
assert wait1.max 5ms
assert wait1.max
assert wait1.max <
assert 5ms > wait1.max
assert
