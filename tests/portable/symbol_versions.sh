#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fails when a program asks for a symbol newer than GLIBC_2.34, or for a libstdc++ at all.
#   symbol_versions.sh PROGRAM
set -euo pipefail
symbols=$(objdump -T "$1")
versions=$(grep -oE 'GLIBC_2\.[0-9]+' <<<"$symbols" | sort -Vu)
[ -n "$versions" ] || { echo "$1 has no versioned symbols: not a program?" >&2; exit 1; }
newest=$(tail -n 1 <<<"$versions")
if [ "$(printf '%s\n' "$newest" GLIBC_2.34 | sort -V | tail -n 1)" != GLIBC_2.34 ]; then
  echo "$1 needs $newest:" >&2
  grep "$newest" <<<"$symbols" >&2
  exit 1
fi
if objdump -p "$1" | grep -q 'NEEDED.*libstdc++'; then
  echo "$1 needs a shared libstdc++" >&2
  exit 1
fi
echo "$1: nothing newer than $newest"
