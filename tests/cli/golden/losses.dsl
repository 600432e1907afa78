# A run that was killed, with losses of known and unknown size and launches without times.
session started=0 ended=1s how=killed(9) counters=no_permission nvtx=0 api=work
process 50 name=app start=0 exit=1s how=killed(9) status=recorded
process 51 name=worker start=100ms exit=900ms how=exited(0) status="blocked: nsys holds CUPTI"
gpu 0 name="NVIDIA H200" cc=9.0 sms=132
kernel 50 saxpy 200ms..300ms grid=1024 block=256 regs=16 corr=1
untimed 50 saxpy grid=1024 block=256 regs=16 corr=2
untimed 50 saxpy grid=1024 block=256 regs=16 corr=3
loss records count=12 from=300ms to=400ms pid=50 why="--max-size reached"
loss records from=400ms to=500ms pid=50 why="the drop counter could not be read"
loss left_running count=2 from=1s to=1s why="2 processes still ran when the recording ended (52 server, 53 logger): what they do later is not recorded"
