#!/usr/bin/env bash
# Tests the layer `syscall` on this machine's GPU: same output, every number named or listed, sizes, cost.
#
#   tests/gpu/kernel.sh CUTAP OUT
#
# Needs a GPU with its driver, gcc, python3; nvcc, PyTorch, CuPy, JAX where they are. What is missing is skipped, and said so.
# Writes recordings, censuses, trees and mappings to OUT, and one line for each check to OUT/report.txt.
# Exit code: 0 all checks hold, 1 one does not, 2 could not test.
set -u
cutap=$(realpath "$1") out=$(realpath -m "$2")
here=$(cd "$(dirname "$0")" && pwd)
programs=$here/programs
mkdir -p "$out/built" || exit 2
cd "$out" || exit 2
report=$out/report.txt
: >"$report"
bad=0
say() { echo "$*" | tee -a "$report"; }
check() { # WHAT CONDITION...
    local what=$1
    shift
    if "$@" >>"$report"; then say "ok: $what"; else say "FAILED: $what" && bad=1; fi
}
ms() { echo $(($(date +%s%N) / 1000000)); }

gcc -O1 -o built/driver_api "$programs/driver_api.c" -lcuda -ldl 2>built/driver_api.log ||
    gcc -O1 -o built/driver_api "$programs/driver_api.c" -L/usr/lib/x86_64-linux-gnu -l:libcuda.so.1 -ldl 2>>built/driver_api.log
nvcc=$(command -v nvcc || ls /usr/local/cuda*/bin/nvcc 2>/dev/null | head -1)
[ -n "$nvcc" ] && "$nvcc" -cudart static -arch=sm_90 -o built/saxpy "$programs/saxpy.cu" 2>built/saxpy.log

say "driver $(cat /sys/module/nvidia/version 2>/dev/null)"
runs=()
one() { # NAME COMMAND...
    local name=$1 begin middle end plain traced
    shift
    begin=$(ms)
    timeout 60 "$@" >"$name.plain" 2>"$name.plain.err"
    plain=$?
    middle=$(ms)
    timeout 90 "$cutap" record -e syscall,driver,runtime,library -o "$name.cutap" -- "$@" >"$name.out" 2>"$name.err"
    traced=$?
    end=$(ms)
    say "$name: exit $plain and $traced, $((middle - begin)) ms and $((end - middle)) ms"
    check "$name: exit code" test "$plain" = "$traced"
    case $name in
    nvidia-smi) check "$name: as many lines" test "$(wc -l <"$name.plain")" = "$(wc -l <"$name.out")" ;;
    *) check "$name: same output" cmp -s "$name.plain" "$name.out" ;;
    esac
    [ -s "$name.cutap" ] || return
    "$cutap" syscall census "$name.cutap" >"$name.census" 2>"$name.census.err"
    "$cutap" syscall tree "$name.cutap" >"$name.tree" 2>/dev/null
    "$cutap" syscall maps "$name.cutap" >"$name.maps" 2>/dev/null
    say "$name: $(grep -m1 '^escapes' "$name.census"), $(grep -m1 '^RM controls' "$name.census"), $(grep '^not understood' "$name.census")"
    check "$name: sizes of controls are the table's" bash -c "! grep -q 'bytes were sent' '$name.census'"
    runs+=("$name.cutap")
}
skip() { say "skipped: $1 ($2)"; }

if command -v nvidia-smi >/dev/null; then one nvidia-smi nvidia-smi; else skip nvidia-smi "not installed"; fi
if [ -x built/driver_api ]; then one driver_api built/driver_api; else skip driver_api "$(head -1 built/driver_api.log)"; fi
if [ -x built/saxpy ]; then one saxpy built/saxpy; else skip saxpy "no nvcc"; fi
for name in torch_train cupy_small jax_small; do
    module=${name%%_*}
    if python3 -c "import importlib.util,sys; sys.exit(not importlib.util.find_spec('$module'))"; then
        one "$name" python3 "$programs/$name.py"
    else
        skip "$name" "no module $module"
    fi
done
# cuBLAS and cuDNN without a framework: the libraries that came with PyTorch, in one folder.
if python3 -c "import torch" 2>/dev/null; then
    mkdir -p libraries
    ln -sf "$(python3 -c 'import nvidia; print(list(nvidia.__path__)[0])')"/*/lib/*.so.* libraries/
    for name in cublas cudnn; do
        LD_LIBRARY_PATH=$out/libraries:${LD_LIBRARY_PATH:-} one "$name" python3 "$programs/toolkit.py" "$name" "$out/libraries"
    done
else
    skip "cublas and cudnn" "no module torch"
fi
"$cutap" syscall census "${runs[@]}" >all.census 2>/dev/null
"$cutap" syscall census --allow-list "${runs[@]}" >all.allow 2>/dev/null
say "all: $(grep '^not understood' all.census)"
sed -n '/^not understood/,$p' all.census | tail -n +2 | tee -a "$report"

# One run seen from outside and from inside.
agree() { # NAME COMMAND...
    local name=$1
    shift
    timeout 120 "$cutap" syscall trace --ptrace --json -o "$name.outside.json" -- \
        "$cutap" record -e syscall --force -o "$name.inside.cutap" -- "$@" >"$name.both.out" 2>"$name.both.err"
    "$cutap" syscall decode --json "$name.inside.cutap" >"$name.inside.json" 2>/dev/null
    check "$name: the same output with both" cmp -s "$name.plain" "$name.both.out"
    check "$name: ptrace and the layer agree" python3 "$here/kernel_agree.py" "$name.outside.json" "$name.inside.json"
}
[ -x built/saxpy ] && agree saxpy built/saxpy
if python3 -c "import torch" 2>/dev/null; then agree torch_train python3 "$programs/torch_train.py"; fi

if [ -x built/saxpy ]; then
    "$cutap" syscall trace -o saxpy.trace -- built/saxpy >/dev/null
    "$cutap" syscall getenv -o saxpy.env -- built/saxpy >/dev/null
    say "saxpy: $(grep -c getenv saxpy.env) variables read, $(grep -c NV_ESC_ saxpy.trace) escapes, $(grep -c UVM_ saxpy.trace) UVM commands"
    "$cutap" syscall trace --fail UVM_REGISTER_GPU=NV_ERR_NOT_SUPPORTED -o saxpy.fail -- built/saxpy >saxpy.fail.out 2>&1
    check "saxpy: --fail UVM_REGISTER_GPU is seen by the program" bash -c '! cmp -s saxpy.plain saxpy.fail.out'
fi

# What a start costs.
record() { local layers=$1 && shift && "$cutap" record -e "$layers" -o t.cutap --force -- "$@"; }
start() { # NAME ROUNDS COMMAND...
    local name=$1 rounds=$2
    shift 2
    say "$(python3 "$here/start.py" --cutap "$cutap" --rounds "$rounds" "$name" "$@")"
}
[ -x built/saxpy ] && start saxpy 21 built/saxpy
[ -x built/driver_api ] && start driver_api 11 built/driver_api
if python3 -c "import torch" 2>/dev/null; then
    start "start of PyTorch" 5 python3 -c 'import torch; print(torch.ones(1, device="cuda"))'
    for _ in 1 2 3 4 5; do
        record driver,runtime python3 "$programs/torch_steady.py" 500 >>steady.others 2>/dev/null
        record syscall,driver,runtime python3 "$programs/torch_steady.py" 500 >>steady.kernel 2>/dev/null
    done
    say "a steady step of PyTorch, in us, five runs in turn: $(sort -n steady.others | xargs) without the layer, $(sort -n steady.kernel | xargs) with it"
fi
exit $bad
