#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A first look at the counter sampler on a GPU machine, in half a minute: can it sample, at what cost,
# what comes out. The tables of costs are those that collector/counters/host rests on.
# usage: sampler_probe.sh [PREFIX]     PREFIX: build or unpacked folder (default: the newest of build/*)
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
prefix=${1:-}
if [ -z "$prefix" ]; then
  newest=$(ls -t "$root"/build/*/libexec/warpmeter/warpmeter-sampler 2> /dev/null | head -n 1)
  prefix=${newest%/libexec/warpmeter/warpmeter-sampler}
fi
sampler=$prefix/libexec/warpmeter/warpmeter-sampler
saxpy=$prefix/lib/warpmeter/kernels/saxpy
if [ -z "$prefix" ] || [ ! -x "$sampler" ]; then
  echo "sampler_probe.sh: no libexec/warpmeter/warpmeter-sampler below '$prefix': build it, or name its folder" >&2
  exit 2
fi
unset CUDA_INJECTION64_PATH NVTX_INJECTION64_PATH

failed=0
step() {  # step SECONDS TITLE COMMAND...
  local seconds=$1 title=$2 status=0
  shift 2
  echo "== $title"
  timeout -k 2 "$seconds" "$@" || status=$?
  if [ "$status" -ne 0 ]; then
    echo "== exit code $status: $title"
    failed=1
  fi
}

grep -H RmProfilingAdminOnly /proc/driver/nvidia/params 2> /dev/null
ls /tmp/nvidia-mps/control 2> /dev/null
nvidia-smi --query-gpu=name,driver_version,mig.mode.current --format=csv,noheader 2> /dev/null
step 25 "probe" "$sampler" --probe --verbose
work=()
if [ -x "$saxpy" ]; then
  work=(--program "$saxpy --n 1048576 --repetitions 10000000")
  "$saxpy" --n 1048576 --repetitions 10000000 > /dev/null 2>&1 &
  busy=$!
  sleep 1
else
  echo "== no kernels/saxpy: sampling an idle GPU"
fi
step 25 "what CUPTI's calls cost" "$sampler" --measure
[ -z "${busy:-}" ] || { kill "$busy" && wait "$busy"; } 2> /dev/null
step 15 "short kernels" python3 "$here/sampler_messages.py" "$sampler" "${work[@]}" --median 4000 --seconds 3
[ -x "$saxpy" ] && work=(--program "$saxpy --n 67108864 --repetitions 10000000")
step 15 "longer kernels" python3 "$here/sampler_messages.py" "$sampler" "${work[@]}" --median 200000 --seconds 3
exit $failed
