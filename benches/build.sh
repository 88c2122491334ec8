#!/usr/bin/env bash
# Builds the programs of overhead.py with gcc alone: benches/build.sh DIR [FOLDER WITH libcudart_static.a]
# Without a runtime the program times driver calls only. What is built runs on any machine with glibc 2.31 or newer.
set -euo pipefail
[ $# -ge 1 ] || { echo "usage: benches/build.sh DIR [FOLDER WITH libcudart_static.a]" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
out=$1
runtime=(-DDRIVER_ONLY)
[ $# -lt 2 ] || runtime=("$2/libcudart_static.a")
mkdir -p "$out"
gcc -O2 -Wall -Wextra -o "$out/overhead" "$here/overhead.c" "${runtime[@]}" -lpthread -ldl -lrt -lm
gcc -O2 -Wall -Wextra -shared -fPIC -I "$here/../crates/hook/include" -o "$out/hook_nothing.so" "$here/../tests/programs/hooks/nothing.c"
for name in flag_on cupti_overhead; do
    gcc -O2 -Wall -Wextra -shared -fPIC -o "$out/$name.so" "$here/$name.c" -ldl
done
mkdir -p "$out/timestamp_shim"
gcc -O2 -Wall -Wextra -shared -fPIC -Wl,-soname,libcuda.so.1 -o "$out/timestamp_shim/libcuda.so.1" "$here/timestamp_shim.c" -ldl
