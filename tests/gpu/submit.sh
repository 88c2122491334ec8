#!/usr/bin/env bash
# Tests the layer `submit` on this machine's GPU: 1000 random launches against what the rings got; counts of PyTorch.
#
#   tests/gpu/submit.sh CUTAP OUT
#
# Needs a GPU with its driver, nvcc, python3; PyTorch where it is. Exit code: 0 all equal, 1 something differs, 2 could not test.
set -u
cutap=$(realpath "$1") out=$(realpath -m "$2")
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out" && cd "$out" || exit 2
nvcc=$(command -v nvcc || ls /usr/local/cuda*/bin/nvcc 2>/dev/null | head -1)
[ -n "$nvcc" ] || { echo "submit.sh: there is no nvcc; nothing was tested" >&2 && exit 2; }
"$nvcc" -O1 -arch=native -cudart static -o submitted "$here/programs/submitted.cu" -lcuda || exit 2
"$cutap" record -e submit,driver -o launches.cutap -- ./submitted 1000 >launches.txt || exit 2
python3 "$here/submit.py" "$cutap" launches.cutap launches.txt
bad=$?
if python3 -c 'import torch' 2>/dev/null; then
    "$cutap" record -e submit,driver -o torch.cutap -- python3 "$here/programs/torch_steady.py" 100
    python3 "$here/submit.py" "$cutap" torch.cutap
else
    echo "skipped: PyTorch (it is not installed)"
fi
exit $bad
