#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What recording costs the application; see cost.py.
# usage: cost.sh [RESULTS] [options of cost.py]
exec python3 "$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/cost.py" "$@"
