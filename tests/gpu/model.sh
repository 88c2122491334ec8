#!/usr/bin/env bash
# Runs this machine's libcuda on the model of the kernel driver, and prints the first request that the model refuses.
# The model stands in front of the real nodes: no request of these runs reaches the GPU, but for the two of step 2.
#
#   tests/gpu/model.sh DIR OUT
#
# DIR has three files, built elsewhere:
#   cutap                cargo build --release -p cutap
#   libkernel_model.so   cargo build --release -p cutap-kernel-process
#   queries              gcc -O1 -o queries tests/programs/kernel/queries.c -ldl
# Writes to OUT, and all that matters to standard output. This is no gate. Exit code: 0 it ran, 2 could not test.
set -u
[ $# -eq 2 ] || { sed -n '2,12s/^# \{0,1\}//p' "$0" >&2 && exit 2; }
from=$(realpath "$1") out=$(realpath -m "$2")
cutap=$from/cutap model=$from/libkernel_model.so queries=$from/queries
for file in "$cutap" "$model" "$queries"; do
    [ -f "$file" ] || { echo "model.sh: there is no $file; its first lines say how to build it" >&2 && exit 2; }
done
chmod +x "$cutap" "$queries"
mkdir -p "$out" && cd "$out" || exit 2

libcuda=$(ldconfig -p 2>/dev/null | sed -n 's/.*libcuda\.so\.1 .*x86-64.*=> //p' | head -1)
for folder in ${LD_LIBRARY_PATH:+${LD_LIBRARY_PATH//:/ }} /usr/local/nvidia/lib64 /usr/lib/x86_64-linux-gnu /usr/lib64; do
    [ -n "$libcuda" ] || { [ ! -e "$folder/libcuda.so.1" ] || libcuda=$folder/libcuda.so.1; }
done
[ -n "$libcuda" ] || { echo "model.sh: libcuda.so.1 was not found; nothing was tested" >&2 && exit 2; }
export LD_LIBRARY_PATH=$(dirname "$libcuda")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
version=$(readlink -f "$libcuda" | sed -n 's/.*libcuda\.so\.\([0-9.]*\)$/\1/p')
echo "libcuda: $libcuda, version ${version:=580.159.04}; driver: $(cat /sys/module/nvidia/version 2>/dev/null || echo none)"

# Runs a command on the model. The file NAME.log gets each request without an exact answer.
on_model() { # NAME COMMAND...
    rm -f "$1.log" && touch "$1.log"
    KERNEL_MODEL_VERSION=$version KERNEL_MODEL_LOG=$out/$1.log LD_PRELOAD=$model timeout -k 5 60 "${@:2}" >"$1.txt" 2>"$1.err"
    echo "$1: exit code $?; $(grep -m1 '^cuInit' "$1.txt" || echo 'cuInit did not return'); last line: $(tail -n 1 "$1.txt")"
    grep -v '^cutap: ' "$1.err" | head -n 5
}
# The first refused request of a run, then each that was refused or answered from another request.
show_log() { # NAME
    echo "$1: first refused: $(grep -m1 '^refused' "$1.log" || echo none)"
    sort "$1.log" | uniq -c | sort -rn | head -n 60
}

echo "== 1. the model with the answers of the recorded H100"
on_model queries "$queries"
show_log queries
grep -v '^attribute' queries.txt

echo "== 2. the real driver"
timeout -k 5 60 "$queries" >real.txt 2>&1
echo "real: exit code $?; $(grep -m1 '^cuInit' real.txt)"
timeout -k 5 90 "$cutap" syscall trace --json -o real.json -- "$queries" >real.traced.txt 2>real.err
timeout -k 5 120 "$cutap" syscall trace --json -o context.json -- "$queries" context >context.real.txt 2>>real.err
echo "real, traced: $(grep -c '"call":"ioctl"' real.json) requests; with a context: $(grep -c '"call":"ioctl"' context.json), $(tail -n 1 context.real.txt)"
echo "lines that differ between the real GPU (<) and the model of another (>):"
diff real.txt queries.txt | grep '^[<>]' | head -n 60

echo "== 3. the requests of the model as cutap shows them"
on_model traced "$cutap" syscall trace -o traced.trace -- "$queries"
echo "$(grep -cE ' (NV_ESC|UVM)_' traced.trace) requests, $(grep -cE 'NV_OK' traced.trace) succeed; those that failed:"
grep -E 'NV_ERR_| = -[0-9]' traced.trace | cut -c1-300 | head -n 40
echo "last requests before the end:"
tail -n 3 traced.trace | cut -c1-300

echo "== 4. what the kernel itself sees of a run on the model: no node may be here"
timeout -k 5 90 "$cutap" syscall trace --ptrace -v -o outside.trace -- env KERNEL_MODEL_VERSION="$version" LD_PRELOAD="$model" "$queries" \
    >outside.txt 2>outside.err
[ -s outside.trace ] || head -n 3 outside.err
grep -E 'open /dev/nvidia| nvidia[a-z0-9-]*\([0-9]+\) (NV_ESC|UVM)' outside.trace | cut -c1-200 | head -n 20
echo "$(grep -c ' open ' outside.trace) opened files, $(grep -cE 'open /dev/nvidia' outside.trace) of them nodes; $(tail -n 1 outside.txt)"

echo "== 5. the model with the answers of step 2"
KERNEL_MODEL_RUN=$out/real.json on_model replayed "$queries"
show_log replayed
if ! grep -q '^cuInit = 0' real.txt; then
    echo "nothing to compare: cuInit failed on the real driver"
elif diff real.txt replayed.txt >replayed.diff; then
    echo "all answers are those of the real driver"
else
    echo "lines that differ between the real driver (<) and the model (>):" && grep '^[<>]' replayed.diff | head -n 40
fi

echo "== 6. a context and copies on the model, whose GPU runs copies and semaphores and no kernel"
context() { # NAME
    on_model "$1" timeout 15 "$cutap" syscall trace -d 10 -o "$1.trace" -- timeout 8 "$queries" context
    show_log "$1" | head -n 30
    grep -E '^cu(Ctx|Mem)|^words' "$1.txt"
    echo "requests: $(grep -cE ' (NV_ESC|UVM)_' "$1.trace"); the last ones:"
    grep -E ' (NV_ESC|UVM)_' "$1.trace" | grep -vE 'MC_SERVICE_INTERRUPTS|RESET_CHANNEL' | tail -n 5 | cut -c1-250
}
context context
KERNEL_MODEL_RUN=$out/context.json context context.replayed

echo "== 7. what was submitted, as cutap reads it from the channels of the model"
on_model submitted timeout 20 "$cutap" trace -e submit,driver -o submitted.trace -- "$queries" context
grep -A 6 -E '^(cuMemcpy|cuMemset)' submitted.trace | cut -c1-200 | head -n 40

echo "== 8. the real driver's answers to what the model had none for"
sed -n 's/^[a-z]*: \(.*\)/\1/p' queries.log context.log | grep -oE '0x[0-9a-f]+:' | tr -d : | sort -u | head -n 40 | while read -r number; do
    "$cutap" syscall decode -x --driver "$version" --command "$number" context.json 2>/dev/null | cut -c1-700 | head -n 60
done
ls -l "$out"
