#!/usr/bin/env bash
# What a change of cutap costs: the same measurements with two builds, in turns (A B A B).
#
#   benches/builds.sh --before CUTAP --after CUTAP --out DIR [--rounds N] [--sim] [--python PYTHON]
#                     [--before-benches DIR]
#
# Single calls (calls.py), arguments in the program's own file (program_memory.c), and a PyTorch training loop where PyTorch and a GPU
# are (paired.py). DIR gets one report for each measurement, build and round. A timing is no test.
# --before-benches names the folder `benches` of the earlier build, where a flag of cutap was renamed since.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
before= after= out= before_benches=$here rounds=3 sim=() python=python3
while [ $# -gt 0 ]; do
    case $1 in
    --before | --after | --out | --rounds | --python)
        [ $# -ge 2 ] || { echo "builds.sh: $1 needs a value" >&2; exit 2; }
        declare "${1#--}=$2"
        shift 2
        ;;
    --before-benches)
        [ $# -ge 2 ] || { echo "builds.sh: $1 needs a folder" >&2; exit 2; }
        before_benches=$2
        shift 2
        ;;
    --sim) sim=(--sim) && shift ;;
    *) echo "builds.sh: unknown argument $1; its first lines say what it takes" >&2; exit 2 ;;
    esac
done
for file in "$before" "$after"; do
    [ -x "$file" ] || { echo "builds.sh: give two programs with --before and --after; '$file' is none" >&2; exit 2; }
done
[ -n "$out" ] || { echo "builds.sh: say where the reports go: --out DIR" >&2; exit 2; }
mkdir -p "$out"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cudart=$(find / -name libcudart_static.a -not -path '/proc/*' -printf '%h\n' 2>/dev/null | head -n 1 || true)
"$here/build.sh" "$work/built" ${cudart:+"$cudart"}
gcc -O2 -shared -fPIC -DLIBRARY -Wl,-soname,libcublas.so.13 -o "$work/libcublas.so.13" "$here/program_memory.c"
gcc -O2 -o "$work/program_memory" "$here/program_memory.c" "$work/libcublas.so.13"

for ((round = 1; round <= rounds; round++)); do
    for build in before after; do
        cutap=${!build} benches=$here
        [ "$build" = after ] || benches=$before_benches
        "$python" -B "$benches/calls.py" --cutap "$cutap" --built "$work/built" --rounds 1 "${sim[@]}" \
            --out "$out/calls-$build-$round.md" >/dev/null
        LD_LIBRARY_PATH=$work "$cutap" record --sim -o "$work/memory.cutap" -- "$work/program_memory" \
            >"$out/memory-$build-$round.txt" 2>/dev/null
        if [ ${#sim[@]} = 0 ] && "$python" -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
            "$python" -B "$benches/paired.py" --cutap "$cutap" --python "$python" --starts 0 --blocks 40 \
                --out "$out/training-$build-$round.md" >/dev/null
        fi
    done
done
"$python" -B "$here/builds.py" "$out"
