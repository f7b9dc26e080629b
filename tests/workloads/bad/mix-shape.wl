define process name=p {
  thread name=t {
    mix name=a {
      flowop delay name=wait1,value=1ms
      thread name=u { flowop delay name=wait2,value=1ms }
      flwop delay name=wait3,value=1ms
      sleep 5
      flowop delay name=wait4,value=1ms
    }
    mix name=b
    mix name=c,
    {
      flowop delay name=wait5,value=1ms
    }
  }
}
mix name=d { flowop delay name=wait6,value=1ms }
run 1
