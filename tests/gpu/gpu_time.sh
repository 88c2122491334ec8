#!/usr/bin/env bash
# Tests cutap record --gpu-time on this machine: the same output as without, rows with their calls, captured calls of
# graphs, counts of kernels beside torch.profiler, and the cost of a step.
#
#   tests/gpu/gpu_time.sh CUTAP PYTHON OUT
set -u
cutap=$(realpath "$1") python=$2 out=$(realpath -m "$3")
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"
cd "$out" || exit
failed=0

# A program: its output with and without, and the lines on its rows.
check() {
    local name=$1
    shift
    timeout 100 "$@" > "$name.plain" 2> "$name.plain.err"
    local plain=$?
    timeout 100 "$cutap" record --gpu-time -o "$name.cutap" -- "$@" > "$name.gpu" 2> "$name.gpu.err"
    local traced=$?
    echo "== $name: exit $plain and $traced"
    cmp "$name.plain" "$name.gpu" || { echo "the output differs"; diff "$name.plain" "$name.gpu" | head -5; failed=1; }
    [ $plain = $traced ] || failed=1
    "$cutap" show -v -e cuInit "$name.cutap" 2>&1 | grep -E "GPU time|bad times|CUPTI|records of" | head -8
}

check train "$python" "$here/programs/torch_train.py"
check graph "$python" "$here/programs/gpu_time_graph.py"
check cupy "$python" "$here/programs/cupy_small.py"
check jax "$python" "$here/programs/jax_small.py"
check profiler "$python" "$here/programs/torch_profiler.py"
nvcc -O1 -arch=native -o saxpy_static "$here/programs/saxpy.cu" 2> nvcc.err && check saxpy ./saxpy_static
nvcc -O1 -arch=native -cudart shared -o saxpy_shared "$here/programs/saxpy.cu" 2>> nvcc.err && check saxpy_shared ./saxpy_shared

echo "== reports"
"$cutap" report --by kernel --top 5 train.cutap 2>&1
"$cutap" report --copies train.cutap 2>&1 | head -6
"$cutap" report --gaps --top 4 train.cutap 2>&1 | head -12
"$cutap" report --graphs --top 2 graph.cutap 2>&1 | head -24
"$cutap" show -e cudaLaunchKernel train.cutap 2>/dev/null | grep " gpu " | tail -2 | cut -c1-200

echo "== counts of kernels beside torch.profiler"
"$python" "$here/programs/gpu_time_counts.py" profile > counts.profiler
timeout 100 "$cutap" record -q --gpu-time -o counts.cutap -- "$python" "$here/programs/gpu_time_counts.py" plain > /dev/null
"$cutap" report --by kernel --json counts.cutap | "$python" "$here/programs/gpu_time_counts.py" compare counts.profiler || failed=1

echo "== cost: median of a step, in turns"
for round in 1 2 3 4 5; do
    echo "plain $("$python" "$here/programs/gpu_time_step.py")"
    echo "record $("$cutap" record -q -o cost.cutap -- "$python" "$here/programs/gpu_time_step.py")"
    echo "gpu-time $("$cutap" record -q --gpu-time -o cost.cutap -- "$python" "$here/programs/gpu_time_step.py")"
done
ls -l cost.cutap train.cutap graph.cutap
rm -f ./*.cutap saxpy_static saxpy_shared
exit $failed
