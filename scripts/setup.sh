#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the distribution's packages that a build needs. Debian 12 is tested; the names are the same on
# Ubuntu 24.04, where this is untried. Does nothing when everything is there, so it can run on every start.
#   scripts/setup.sh [--no-gui]
set -euo pipefail

packages=(
  g++ cmake ninja-build pkg-config      # compiler and build
  libsqlite3-dev libfmt-dev zlib1g-dev  # the file, formatting, gzip
  libcli11-dev nlohmann-json3-dev       # command line, JSON
  libeigen3-dev                         # sparse least squares
  libgtest-dev libgmock-dev libbenchmark-dev
  python3 binutils sqlite3
)
gui_packages=(qt6-base-dev libgl-dev fonts-dejavu-core)
[ "${1:-}" = --no-gui ] || packages+=("${gui_packages[@]}")

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
  [ "$status" = "install ok installed" ] || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

if ! command -v apt-get >/dev/null; then
  echo "setup: this system has no apt-get; install these (Debian's names) and start again:" >&2
  echo "  ${missing[*]}" >&2
  exit 1
fi
sudo=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "setup: run as root, or install: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  sudo=(sudo)
fi
echo "setup: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { "${sudo[@]}" apt-get update && "${sudo[@]}" apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
  tail -20 "$log" >&2
  echo "setup: apt-get could not install: ${missing[*]} (its last lines stand above)" >&2
  exit 1
fi
