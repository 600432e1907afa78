#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Everything in this folder, one after the other, whatever fails or takes too long.
# usage: run_all.sh [RESULTS] [PREFIX]     PREFIX: build or unpacked folder (default: the newest of build/*)
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
results=${1:-gpu-results}
prefix=()
[ $# -ge 2 ] && prefix=(--prefix "$2")
failed=0

step() {
  local seconds=$1 status=0
  shift
  echo "== ${*##*/}"
  timeout -k 10 "$seconds" "$@" || status=$?
  if [ "$status" -ne 0 ]; then
    echo "== exit code $status: ${1##*/}"
    failed=1
  fi
}

step 300 "$here/kernels_check.sh" "$results" "${prefix[@]}" --sanitizer
step 600 "$here/verify_recording.py" "$results" "${prefix[@]}"
step 300 "$here/verify_faults.py" "$results" "${prefix[@]}"
step 300 "$here/record_all.sh" "$results" ${2:+"$2"}
step 600 "$here/verify_pytorch.py" "$results" "${prefix[@]}"
for name in streams_overlap graph copies_pageable; do
  step 300 "$here/nsys_stats.sh" "$results/recordings/$name.wm.sqlite" "$results/nsys-$name"
done
step 150 "$here/verify_pc.py" "$results" "${prefix[@]}"
step 900 "$here/verify_counters.py" "$results" "${prefix[@]}" --limit 600
step 600 "$here/cost_counters.py" "$results" "${prefix[@]}"
step 600 "$here/cost.sh" "$results" "${prefix[@]}"
echo "== summary"
grep -h "^FAIL" "$results"/*.txt "$results"/nsys-*/*.txt 2> /dev/null
grep -hE ": [0-9]+ passed, " "$results"/*.txt "$results"/nsys-*/*.txt 2> /dev/null
exit $failed
