#!/usr/bin/env bash
# Tests the injection of GPU time on this machine's CUPTI, without cutap: rows of PyTorch, and which have their driver call.
#
#   tests/gpu/gpu_time_rows.sh LIBRARY PYTHON OUT
#
# LIBRARY is libcutap_gpu_time.so (crates/gpu-time/src/lib.rs says how it is built). Three runs with it and three without, in turns.
set -eu
library=$(realpath "$1") python=$2 out=$(realpath -m "$3")
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"
gcc -O1 -shared -fPIC -o "$out/gpu_rows.so" "$here/programs/gpu_rows.c" -lpthread
for round in 1 2 3; do
    echo "round $round, plain:"
    "$python" "$here/programs/gpu_rows_train.py"
    echo "round $round, with rows:"
    ROWS=$out/rows CUDA_INJECTION64_PATH=$library LD_PRELOAD=$out/gpu_rows.so "$python" "$here/programs/gpu_rows_train.py"
done
"$python" - "$out/rows" <<'END'
import sys

WORK, DRIVER_CALL = (128, 129, 130), 131
rows = [[int(word) for word in line.split()] for line in open(sys.argv[1], encoding="ascii")]
correlation = lambda row: row[4] >> 32  # noqa: E731
calls = {correlation(row) for row in rows if row[0] == DRIVER_CALL}
work = [row for row in rows if row[0] in WORK]
with_call = sum(correlation(row) in calls for row in work)
print(f"{with_call} of {len(work)} rows of work have a driver call; {len(calls)} driver calls")
sys.exit(with_call != len(work))
END
rm "$out/rows"
