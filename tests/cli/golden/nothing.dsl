session started=0 ended=1s how=exited(0) counters=not_requested nvtx=1 api=work
process 60 name=true start=0 exit=1s how=exited(0) status=no_gpu_work
