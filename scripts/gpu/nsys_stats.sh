#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs NVIDIA's own reports on a recording and compares their totals with SQL on the same file.
# usage: nsys_stats.sh FILE [RESULTS]
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [ $# -lt 1 ] || [ ! -f "$1" ]; then
  echo "usage: nsys_stats.sh FILE [RESULTS]; FILE is a recording" >&2
  exit 2
fi
exec python3 "$here/nsys_stats.py" "$1" "${2:-gpu-results}"
