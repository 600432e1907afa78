# SPDX-License-Identifier: Apache-2.0
# For demo.sh and test.sh: where things are, and whether the CUDA toolkit is there. Sourced, not run.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Prints the version of a usable toolkit (>= 13.0 with CUPTI headers) or nothing.
cuda_toolkit() {
  local nvcc
  for nvcc in "${CUDACXX:-}" "${CUDA_HOME:-/nonexistent}/bin/nvcc" "$(command -v nvcc || true)" /usr/local/cuda/bin/nvcc; do
    [ -x "$nvcc" ] || continue
    local version home
    version=$("$nvcc" --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p')
    home=$(cd "$(dirname "$(readlink -f "$nvcc")")/.." && pwd)
    if [ "${version%%.*}" -ge 13 ] && { [ -e "$home/include/cupti.h" ] || [ -e "$home/extras/CUPTI/include/cupti.h" ]; }; then
      export CUDACXX=$nvcc
      echo "$version"
      return
    fi
  done
}

say_no_toolkit() {
  cat >&2 <<'TEXT'
****************************************************************************************************
* No CUDA toolkit >= 13.0 with CUPTI headers was found (looked at CUDACXX, CUDA_HOME, PATH and       *
* /usr/local/cuda). Building the VIEWER ONLY: report, occupancy and the window work, recording does  *
* not. Install the toolkit (packages cuda-nvcc-13-0, cuda-cudart-dev-13-0, cuda-cupti-dev-13-0,      *
* cuda-nvrtc-dev-13-0, cuda-nvtx-13-0 of NVIDIA's repository) and start again for all of it.         *
****************************************************************************************************
TEXT
}

# A build folder configured by another checkout or CMake would fail halfway: start it afresh.
fresh_if_foreign() {
  local cache=$1/CMakeCache.txt
  if [ -f "$cache" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$cache"; then rm -rf "$1"; fi
}
