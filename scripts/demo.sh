#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Shows Warpmeter at work. With a GPU: profiles bundled kernels. Without: opens the recording that ships with the
# project. Prints the report, renders the window as a picture, and says which of the two it did.
# Uses an existing build, or the folder it was unpacked into, and installs and builds only when there is none.
#   scripts/demo.sh [OUTPUT-FOLDER]     default: ./warpmeter-demo
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

case "${1:-}" in -*) echo "usage: scripts/demo.sh [OUTPUT-FOLDER]" >&2; exit 2 ;; esac
out=${1:-warpmeter-demo}
mkdir -p "$out" || { echo "demo: cannot make the folder $out; name another: scripts/demo.sh FOLDER" >&2; exit 2; }
out=$(cd "$out" && pwd)

# A folder with bin/warpmeter: unpacked portable package (this script lies in share/warpmeter/scripts), or a build.
find_tree() {
  local tree
  for tree in "$root/../.." "$root/build/release" "$root/build/dev" "$root/build/portable" "$root/build/viewer"; do
    if [ -x "$tree/bin/warpmeter" ]; then (cd "$tree" && pwd); return; fi
  done
}

tree=$(find_tree)
if [ -z "$tree" ]; then
  "$root/scripts/setup.sh"
  cd "$root"
  preset=dev
  if [ -z "$(cuda_toolkit)" ]; then say_no_toolkit; preset=viewer; fi
  cuda_toolkit >/dev/null || true
  fresh_if_foreign "build/$preset"
  echo "demo: building (a few minutes, once)"
  cmake --preset "$preset" -DWARPMETER_TESTS=OFF -DWARPMETER_BENCHMARKS=OFF >"$out/build.log" 2>&1 &&
    cmake --build --preset "$preset" -j "$(nproc)" >>"$out/build.log" 2>&1 ||
    { tail -30 "$out/build.log" >&2; echo "demo: the build failed; its whole output: $out/build.log" >&2; exit 1; }
  tree=$root/build/$preset
fi
echo "demo: using $tree"
warpmeter=$tree/bin/warpmeter

have_gpu=no
if [ -x "$tree/libexec/warpmeter/warpmeter-recorder" ] && "$tree/libexec/warpmeter/warpmeter-recorder" --query-gpus >/dev/null 2>&1; then
  have_gpu=yes
fi
if [ $have_gpu = yes ]; then
  file=$out/streams.wm.sqlite
  "$warpmeter" record --force -o "$file" -- "$tree/lib/warpmeter/kernels/streams"
  what="recorded the bundled program 'streams' on this machine's GPU"
else
  for shipped in "$root/tests/data/recordings" "$tree/share/warpmeter/recordings"; do
    [ -f "$shipped/torch_loop.wm.sqlite.gz" ] && break
  done
  file=$out/torch_loop.wm.sqlite
  gzip -dc "$shipped/torch_loop.wm.sqlite.gz" >"$file" ||
    { echo "demo: the shipped recording is missing: $shipped/torch_loop.wm.sqlite.gz" >&2; exit 1; }
  what="no usable NVIDIA GPU here, so it opened a recording of a PyTorch loop made on an H200"
fi

echo
"$warpmeter" report "$file" | tee "$out/report.txt"
echo
if [ -x "$tree/bin/warpmeter-gui" ]; then
  "$tree/bin/warpmeter-gui" "$file" --screenshot "$out/window.png" --size 1600x900
  echo "demo: picture of the window: $out/window.png"
else
  echo "demo: this build has no window (warpmeter-gui), so there is no picture"
fi
echo "demo: $what"
echo "demo: report: $out/report.txt, recording: $file"
