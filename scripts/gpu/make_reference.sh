#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures the bundled programs on this machine's GPU and writes the results that ship for its model.
# usage: make_reference.sh FILE [PREFIX] [SECONDS]
#   FILE: kernels/references/h200.json, for instance; PREFIX: build or unpacked folder (default: the newest of build/*);
#   SECONDS: for the whole set (default 500). Run it on an idle GPU. Exit code: that of `kernels run`, or 1.
set -eu
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
file=${1:?FILE is missing: make_reference.sh FILE [PREFIX] [SECONDS]}
prefix=${2:-}
if [ -z "$prefix" ]; then
  warpmeter=$(ls -t "$here"/../../build/*/bin/warpmeter 2> /dev/null | head -n 1) || true
else
  warpmeter=$prefix/bin/warpmeter
fi
[ -x "$warpmeter" ] || { echo "no bin/warpmeter below ${prefix:-build}: build it, or name its folder" >&2; exit 1; }

# Kept in a folder of its own: neither older results nor this GPU's ceilings of the user have a part in it.
data=$(mktemp -d)
trap 'rm -rf "$data"' EXIT
status=0
XDG_DATA_HOME=$data "$warpmeter" kernels run --limit "${3:-500}" || status=$?
[ -f "$data/warpmeter/references.json" ] || { echo "nothing was measured (exit code $status)" >&2; exit 1; }
mkdir -p "$(dirname "$file")"
# Of the model, not of this one GPU.
python3 - "$data/warpmeter/references.json" "$file.part" << 'PYTHON'
import json, sys
document = json.load(open(sys.argv[1], encoding="utf-8"))
if len(document["gpus"]) != 1 or not document["gpus"][0]["results"]:
    sys.exit("no result with a rate: nothing to ship")
document["gpus"][0]["uuid"] = ""
with open(sys.argv[2], "w", encoding="utf-8") as out:
    json.dump(document, out, indent=1)
    out.write("\n")
PYTHON
mv "$file.part" "$file"
echo "$file: $(grep -c '"program"' "$file") results"
exit $status
