#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Records every bundled kernel with small sizes, as small files for the tests and for a demo without a GPU.
# usage: record_all.sh [RESULTS] [PREFIX]     files: RESULTS/recordings/*.wm.sqlite
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
results=${1:-gpu-results}
prefix=${2:-}
if [ -z "$prefix" ]; then
  newest=$(ls -t "$root"/build/*/bin/warpmeter 2>/dev/null | head -n 1)
  prefix=${newest%/bin/warpmeter}
fi
if [ -z "$prefix" ] || [ ! -x "$prefix/bin/warpmeter" ]; then
  echo "record_all.sh: no bin/warpmeter below build/: build it, or name its folder as second argument" >&2
  exit 2
fi
prefix=$(cd "$prefix" && pwd)
mkdir -p "$results/recordings" && cd "$results/recordings" || exit 2
unset CUDA_INJECTION64_PATH NVTX_INJECTION64_PATH

failed=0
# record NAME PROGRAM ARGUMENTS...: the program's own report goes to NAME.json
record() {
  local name=$1 status=0
  shift
  rm -f "$name".wm.sqlite "$name".wm.sqlite-wal "$name".wm.sqlite-shm
  timeout -k 5 120 "$prefix/bin/warpmeter" record --force -o "$name.wm.sqlite" -- "$@" \
    > "$name.json" 2> "$name.stderr" || status=$?
  if [ "$status" -eq 0 ] && [ -s "$name.wm.sqlite" ]; then
    echo "PASS  $name: $(stat -c %s "$name.wm.sqlite") bytes, $(gzip -9 -c "$name.wm.sqlite" | wc -c) as gzip"
  else
    echo "FAIL  $name: exit code $status; $(tail -n 1 "$name.stderr")"
    failed=1
  fi
}
kernel() {
  local name=$1 program=$2
  shift 2
  record "$name" "$prefix/lib/warpmeter/kernels/$program" "$@" --json --print-launches json \
    --print-events json
}

kernel saxpy saxpy --n 4194304 --repetitions 40
kernel matmul_naive matmul --variant naive --n 512 --repetitions 10
kernel matmul_tiled matmul --variant tiled --n 512 --repetitions 10
kernel streams_overlap streams --variant overlap --rounds 10
kernel streams_serial streams --variant serial --rounds 10
kernel streams_barrier streams --variant barrier --rounds 10
kernel graph graph --variant graph --repetitions 20
kernel graph_launches graph --variant launches --repetitions 20
kernel copies_pageable copies --variant pageable --bytes 16777216 --repetitions 10
kernel copies_pinned copies --variant pinned --bytes 16777216 --repetitions 10
kernel cold_start_sass cold_start --variant sass
kernel cold_start_ptx cold_start --variant ptx
kernel driver_nvrtc driver_nvrtc --n 4194304 --repetitions 20
kernel empty empty --repetitions 500
if python3 -c 'import torch' 2> /dev/null; then
  record torch python3 "$here/torch_loop.py" --steps 5 --batch 1024
else
  echo "SKIP  torch: python3 cannot import it"
fi
echo "total $(cat ./*.wm.sqlite 2> /dev/null | wc -c) bytes in $(pwd)"
exit $failed
