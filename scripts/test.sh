#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up a Debian machine, builds everything, checks the tree's rules and runs all tests that need no GPU.
#   scripts/test.sh [--sanitizers]     --sanitizers adds a second build under AddressSanitizer and UBSan
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"

sanitizers=no
case "${1:-}" in
  "") ;;
  --sanitizers) sanitizers=yes ;;
  *) echo "usage: scripts/test.sh [--sanitizers]" >&2; exit 2 ;;
esac

scripts/setup.sh
preset=dev
if [ -z "$(cuda_toolkit)" ]; then say_no_toolkit; preset=viewer; fi
cuda_toolkit >/dev/null || true

run_preset() {  # preset [configure arguments]
  local name=$1; shift
  fresh_if_foreign "build/$name"
  echo "== $name: configure and build"
  cmake --preset "$name" "$@" >"build-$name.log" 2>&1 || { cat "build-$name.log" >&2; exit 1; }
  rm -f "build-$name.log"
  cmake --build --preset "$name" -j "$(nproc)"
  echo "== $name: tests"
  ctest --preset "$name" -j "$(nproc)"
}

echo "== rules of the tree"
python3 cmake/check_tree.py
run_preset "$preset"
if [ "$sanitizers" = yes ]; then run_preset asan-ubsan -DWARPMETER_CUDA="$([ $preset = dev ] && echo ON || echo OFF)"; fi
echo "== all tests passed ($preset$([ $sanitizers = yes ] && echo ', asan-ubsan'))"
