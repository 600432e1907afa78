# A training loop in small: cold start, two streams, pageable copies, kernels held by different resources.
session started=0 ended=2500ms how=exited(0) counters=not_requested nvtx=1 api=work
process 4711 name=train.py argv="python train.py" start=0 uncertainty=10ms exit=2500ms how=exited(0) status=recorded
gpu 0 name="NVIDIA H200" cc=9.0 sms=132 bandwidth=4800000000000
thread 4711/4711 python
mark 4711/4711 injectionEntered 310ms
mark 4711/4711 cuInitFinished 430ms
mark 4711/4711 contextCreated 540ms ctx=1
api 4711/4711 cuInit 300ms..430ms corr=1 driver
api 4711/4711 cuCtxCreate_v4 430ms..540ms corr=2 driver
api 4711/4711 cuLibraryLoadData 600ms..700ms corr=3 driver
mark 4711/4711 moduleLoaded 700ms ctx=1 module=1 bytes=1MiB
api 4711/4711 cudaLaunchKernel_v7000 790ms..800ms corr=10
kernel 4711 gemm_bf16_128x256 800ms..1100ms corr=10 grid=264 block=384 regs=168 dynamic=213KiB executed=228KiB mangled=_Z4gemmv
api 4711/4711 cudaLaunchKernel_v7000 1099ms..1100ms corr=11
kernel 4711 gelu_elementwise 1100ms..1300ms corr=11 grid=16384 block=128 regs=32
api 4711/4711 cudaLaunchKernel_v7000 1310ms..1320ms corr=12
kernel 4711 "void ns::layer_norm_fwd<float, 4>(float*, int)" 1350ms..1450ms corr=12 grid=4096 block=256 regs=80
api 4711/4711 cudaLaunchKernel_v7000 1460ms..1470ms corr=13
kernel 4711 reduce_rows 1500ms..1510ms corr=13 grid=64 block=256 regs=24
kernel 4711 reduce_rows 1510ms..1519ms corr=14 grid=32 block=256 regs=24
kernel 4711 tiny 1520ms..1521ms corr=15 grid=1 block=32 regs=16
kernel 4711 tiny2 1521ms..1522ms corr=16 grid=1 block=32 regs=16
kernel 4711 tiny3 1522ms..1523ms corr=17 grid=1 block=32 regs=16
api 4711/4711 cudaMemcpyAsync_v3020 1400ms..1600ms corr=20
memcpy 4711 HtoD 1400ms..1600ms bytes=2000000000 corr=20 stream=13 src=pageable dst=device
api 4711/4711 cudaStreamSynchronize_v3020 1600ms..2000ms corr=21
api 4711/4711 cudaMemcpyAsync_v3020 2000ms..2010ms corr=22
memcpy 4711 DtoH 2010ms..2011ms bytes=10000000 corr=22 stream=13 src=device dst=pinned
memset 4711 2011ms..2012ms bytes=1000000 corr=23
nvtx 4711/4711 step 780ms..1460ms
nvtx 4711/4711 "data load" 1390ms..1601ms
cost 4711 walk ns=10ms count=100
