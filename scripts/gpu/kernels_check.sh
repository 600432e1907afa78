#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every bundled kernel program; see kernels_check.py.
# usage: kernels_check.sh [RESULTS] [options of kernels_check.py]     --sanitizer: compute-sanitizer too
exec python3 "$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/kernels_check.py" "$@"
