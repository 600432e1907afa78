#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up a Debian machine, builds everything, checks the tree's rules and runs all tests that need no GPU.
#   scripts/test.sh [--sanitizers] [--portable]
#     --sanitizers   all tests again under AddressSanitizer and UBSan
#     --portable     build what is copied to clusters and read which symbol versions it asks for
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"

sanitizers=no
portable=no
for argument in "$@"; do
  case "$argument" in
    --sanitizers) sanitizers=yes ;;
    --portable) portable=yes ;;
    *) echo "usage: scripts/test.sh [--sanitizers] [--portable]" >&2; exit 2 ;;
  esac
done

scripts/setup.sh
preset=dev
if [ -z "$(cuda_toolkit)" ]; then say_no_toolkit; preset=viewer; fi
cuda_toolkit >/dev/null || true

build_preset() {  # preset [configure arguments]
  local name=$1; shift
  fresh_if_foreign "build/$name"
  echo "== $name: configure and build"
  mkdir -p build
  cmake --preset "$name" "$@" >"build/$name.log" 2>&1 || { cat "build/$name.log" >&2; exit 1; }
  cmake --build --preset "$name" -j "$(nproc)"
}

run_preset() {  # preset [configure arguments]
  local name=$1
  build_preset "$@"
  echo "== $name: tests"
  ctest --preset "$name" -j "$(nproc)"
}

echo "== rules of the tree"
python3 cmake/check_tree.py
run_preset "$preset"
if [ "$sanitizers" = yes ]; then run_preset asan-ubsan -DWARPMETER_CUDA="$([ $preset = dev ] && echo ON || echo OFF)"; fi
if [ "$portable" = yes ] && [ "$preset" = dev ]; then
  build_preset portable -DWARPMETER_CUDA_ARCHITECTURES=90
  echo "== portable: symbol versions"
  cmake --install build/portable --prefix build/portable-installed >/dev/null
  for program in bin/warpmeter libexec/warpmeter/warpmeter-recorder libexec/warpmeter/warpmeter-sampler \
    lib/warpmeter/libwarpmeter_inject.so; do
    tests/portable/symbol_versions.sh "build/portable-installed/$program"
  done
  for program in build/portable-installed/lib/warpmeter/kernels/*; do tests/portable/symbol_versions.sh "$program"; done
  build/portable-installed/bin/warpmeter --version
fi
echo "== all tests passed ($preset$([ $sanitizers = yes ] && echo ', asan-ubsan'))"
