#!/usr/bin/env bash
# Measures the layer hidden on this machine's GPU; see hidden.py. Needs a GPU with its driver, nvcc, gcc and Python.
#
#   tests/gpu/hidden.sh --cutap PATH --out DIR [--python PYTHON] [--seconds N] [--toolkit LABEL=FOLDER]...
#
# With --toolkit: only programs of single toolkit libraries (programs/toolkit.py), of the libraries in FOLDER.
# The tables are those of api/export-tables. Exit code: 0 where all outputs and
# counts are equal, 1 where some differ, 2 could not test.
set -u
here=$(cd "$(dirname "$0")" && pwd)
cutap= out= python=python3 seconds=100 toolkits=()
while [ $# -gt 1 ]; do
    case $1 in
    --cutap) cutap=$2 ;;
    --out) out=$2 ;;
    --python) python=$2 ;;
    --seconds) seconds=$2 ;;
    --toolkit) toolkits+=(--toolkit "$2") ;;
    *) echo "hidden.sh: unknown argument $1" >&2 && exit 2 ;;
    esac
    shift 2
done
[ -x "$cutap" ] && [ -n "$out" ] || { echo "hidden.sh: needs --cutap PATH --out DIR" >&2 && exit 2; }
mkdir -p "$out/built"
built=$out/built
"$cutap" hook-header >"$built/cutap_hook.h" || exit 2
gcc -O1 -shared -fPIC "$here/hidden_counter.c" -o "$built/hidden_counter.so" -ldl || exit 2
gcc -O1 -shared -fPIC -I"$built" "$here/hidden_skip.c" -o "$built/hidden_skip.so" || exit 2
for kind in static shared; do
    nvcc -O1 -cudart $kind -o "$built/saxpy_$kind" "$here/programs/saxpy.cu" || echo "saxpy_$kind was not built"
done
"$cutap" api --list hidden --json >"$built/tables.json" || exit 2
"$python" - "$built" <<'PY' || exit 2
import json, sys
built = sys.argv[1]
all_tables, counted = [], []
for line in open(built + "/tables.json"):
    row = json.loads(line)
    if row["type"] != "table" or "runtime" in row["treatment"].split(",")[0]:
        continue
    all_tables.append(row["uuid"])
    # Tables that programs request; never those of the keyed check, or of profilers alone.
    by = [who for who in row["requested_by"] if who != "CUPTI"]
    if by and row["treatment"].startswith("its words"):
        counted.append(row["uuid"] if row["sized"] else f"{row['uuid']} {max(row['words'].values())}")
open(built + "/all", "w").write("\n".join(all_tables))
open(built + "/counted", "w").write("\n".join(counted) + "\n")
PY
exec "$python" "$here/hidden.py" --cutap "$cutap" --counter "$built/hidden_counter.so" --skip "$built/hidden_skip.so" \
    --tables "$built/counted" --all-tables "$built/all" --built "$built" --out "$out" --seconds "$seconds" "${toolkits[@]}"
