#!/usr/bin/env bash
# Ranges of NVTX on this machine's GPU: the same output as without, and calls and GPU time in ranges.
#
#   tests/gpu/ranges.sh CUTAP PYTHON OUT
set -u
cutap=$(realpath "$1") python=$2 out=$(realpath -m "$3")
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out" && cd "$out" || exit 2
failed=0
timeout 100 "$python" "$here/programs/torch_ranges.py" > plain.txt 2> plain.err
plain=$?
timeout 100 "$cutap" record --gpu-time -o ranges.cutap -- "$python" "$here/programs/torch_ranges.py" > ranges.txt 2> ranges.err
traced=$?
{ [ $plain = $traced ] && cmp plain.txt ranges.txt; } || { echo "FAIL: exit $plain and $traced"; tail -3 ranges.err; failed=1; }
tail -1 ranges.err
"$cutap" show -e nvtx ranges.cutap 2> /dev/null | head -12
"$cutap" show --json -e nvtx ranges.cutap 2> /dev/null | grep -c '"range":"range"'
"$cutap" report --by range --top 6 ranges.cutap 2>&1 | head -10
"$cutap" report --by step ranges.cutap 2>&1 | head -14
exit $failed
