# PC samples: a product whose two processes share the function and whose file has lines, one without lines, one with too few.
session started=0 ended=2500ms how=exited(0) counters=pc
process 4711 name=train.py argv="python train.py" start=0 exit=2500ms how=exited(0) status=recorded
process 4712 name=worker start=10ms exit=2400ms how=exited(0) status=recorded parent=4711
gpu 0 name="NVIDIA H200" cc=9.0 sms=132
kernel 4711 gemm_bf16_128x256 800ms..1100ms grid=264 block=384 regs=168 mangled=_Z4gemmv
kernel 4712 gemm_bf16_128x256 1100ms..1200ms grid=132 block=384 regs=168 mangled=_Z4gemmv
kernel 4711 "void ns::layer_norm_fwd<float, 4>(float*, int)" 1350ms..1450ms grid=4096 block=256 regs=80 mangled=_Z10layer_normPf
kernel 4711 tiny 1520ms..1521ms grid=1 block=32 regs=16 mangled=_Z4tinyv
pcrun 4711 0 period=32768 samples=8126 dropped=70
pcrun 4712 0 period=32768 samples=2450 other=50
pc 4711 _Z4gemmv 416 long_scoreboard            5000 file=/home/someone/src/gemm.cu line=17
pc 4711 _Z4gemmv 416 long_scoreboard_not_issued 4700 file=/home/someone/src/gemm.cu line=17
pc 4711 _Z4gemmv 448 gmma                       1500 file=/home/someone/src/gemm.cu line=21
pc 4711 _Z4gemmv 448 gmma_not_issued             300 file=/home/someone/src/gemm.cu line=21
pc 4711 _Z4gemmv 448 selected                    900 file=/home/someone/src/gemm.cu line=21
pc 4712 _Z4gemmv 416 long_scoreboard            1100 file=/home/someone/src/gemm.cu line=17
pc 4712 _Z4gemmv 416 long_scoreboard_not_issued 1000 file=/home/someone/src/gemm.cu line=17
pc 4712 _Z4gemmv 480 barrier                    1000 file=/home/someone/src/gemm.cu line=30
pc 4712 _Z4gemmv 480 selected                    300 file=/home/someone/src/gemm.cu line=30
pc 4711 _Z4gemmv 480 tmem_wait                   150 file=/home/someone/src/gemm.cu line=30
pc 4711 _Z4gemmv 512 misc                         50
pc 4711 _Z10layer_normPf 0 wait           300
pc 4711 _Z10layer_normPf 16 not_selected  100
pc 4711 _Z4tinyv 0 no_instructions         12
pc 4711 _Z7calledfi 0 drain                44
