#!/usr/bin/env bash
# Proves cutap where and report --collectives on two GPUs, with PyTorch's NCCL.
#
#   tests/gpu/collectives.sh CUTAP PYTHON OUT
#
# PYTHON has PyTorch with NCCL. Parts: healthy (DDP: the same output as without cutap, all calls agree, and as many as
# NCCL's log has), mistakes of DDP (count, function, missing), cost of a step, random mistakes of a C program. It prints
# PASS and FAIL lines; OUT gets the logs. COLLECTIVES_ROUNDS: how many random mistakes (100). JOBS: how many at a time.
set -u
if [ $# -lt 3 ]; then
    sed -n '4,9s/^# \?//p' "$0" >&2
    exit 2
fi
cutap=$(realpath "$1") python=$2 out=$(realpath -m "$3")
here=$(cd "$(dirname "$0")" && pwd)
rounds=${COLLECTIVES_ROUNDS:-100}
mkdir -p "$out"
cd "$out" || exit 2
PATH=$(dirname "$cutap"):$PATH
# Multicast of NVLink does not work on every shared machine.
export NCCL_NVLS_ENABLE=0
failed=0
say() {
    echo "$1 $2"
    [ "$1" = PASS ] || failed=1
}
torch() {
    "$python" -m torch.distributed.run --nproc-per-node 2 "$@"
}
ddp=$here/programs/collectives_ddp.py

# Healthy: the output is that of a run without cutap, and the log of NCCL has as many collectives of a rank.
torch "$ddp" > plain.out 2> plain.err
rm -f run.*.cutap nccl.*
NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=COLL NCCL_DEBUG_FILE=nccl.%p \
    torch --no-python "$cutap" record -o 'run.%q{RANK}.cutap' -- "$python" "$ddp" > traced.out 2> traced.err
if cmp -s <(grep '^rank' plain.out | sort) <(grep '^rank' traced.out | sort); then
    say PASS "healthy: the output is the same"
else
    say FAIL "healthy: the output differs (plain.out, traced.out)"
fi
"$cutap" report --collectives run.0.cutap run.1.cutap > healthy.txt 2> healthy.err
last=$(grep '^no mismatch: ' healthy.txt | tail -n 1)
case $last in
'no mismatch: '*) say PASS "healthy: $last" ;;
*) say FAIL "healthy: $last" ;;
esac
logged=$(cat nccl.* | grep -c 'opCount')
counted=$("$cutap" report --collectives --json run.0.cutap run.1.cutap |
    "$python" -c 'import json, sys
lines = (json.loads(line) for line in sys.stdin)
print(sum(of["called"] for line in lines if line.get("type") == "communicator" for of in line["members"]))')
if [ "$logged" = "$counted" ]; then
    say PASS "healthy: $counted calls, as many as in NCCL's log"
else
    say FAIL "healthy: $counted calls, and $logged in NCCL's log"
fi

# Mistakes of DDP: the last line names the call, while it hangs and afterwards.
for mistake in count function missing; do
    rm -f run.*.cutap
    MISTAKE=$mistake setsid "$python" -m torch.distributed.run --nproc-per-node 2 --no-python \
        "$cutap" record -o 'run.%q{RANK}.cutap' -- "$python" "$ddp" > "$mistake.out" 2>&1 &
    job=$!
    last=
    for _ in $(seq 60); do
        sleep 1
        "$cutap" where run.0.cutap run.1.cutap > "$mistake.where" 2>&1
        last=$(tail -n 1 "$mistake.where")
        case $last in 'first mismatch: '* | 'not arrived: '*'rank 1 '*) break ;; esac
    done
    kill -9 -- "-$job"
    wait "$job" 2> "$mistake.wait"
    sleep 2
    "$cutap" report --collectives run.0.cutap run.1.cutap > "$mistake.report" 2>&1
    after=$(grep -E '^(first mismatch|not arrived)' "$mistake.report" | tail -n 1)
    wanted='first mismatch: '
    [ "$mistake" != missing ] || wanted='not arrived: '
    if [ "$last" = "$after" ] && [ "${last#"$wanted"}" != "$last" ]; then
        say PASS "$mistake: $last"
    else
        say FAIL "$mistake: while it hung: $last; afterwards: $after"
    fi
done

# Without NCCL's calls, as with an NCCL that is linked into the program: its ranges say the same.
rm -f run.*.cutap
torch --no-python "$cutap" record -q -e nvtx -o 'run.%q{RANK}.cutap' -- "$python" "$ddp" > ranges.out 2> ranges.err
"$cutap" report --collectives run.0.cutap run.1.cutap > ranges.txt 2>&1
last=$(grep '^no mismatch: ' ranges.txt | tail -n 1)
of_calls=$(grep '^no mismatch: ' healthy.txt | tail -n 1)
if [ -n "$last" ] && [ "${last%% calls*}" = "${of_calls%% calls*}" ]; then
    say PASS "ranges: $last"
else
    say FAIL "ranges: $last (ranges.txt), by calls: $of_calls"
fi

# Cost of a small step, in interleaved rounds.
for round in 1 2 3; do
    for how in plain traced; do
        command=("$python" "$ddp")
        if [ "$how" = traced ]; then command=("$cutap" record -q -o 'cost.%q{RANK}.cutap' -- "${command[@]}"); fi
        rm -f cost.*.cutap
        STEPS=1000 STEP_TIMES=1 torch --no-python "${command[@]}" > cost.out 2> cost.err
        echo "cost, round $round, $how: $(grep -o '^step .*' cost.err)"
    done
done

# Random mistakes of a C program with the same NCCL.
nccl=$("$python" -c 'import nvidia.nccl; print(list(nvidia.nccl.__path__)[0])')/lib
sources=$here/../programs/collectives
if gcc -O1 "$sources/ranks.c" -o ranks -l:libcuda.so.1 "$nccl/libnccl.so.2" "-Wl,-rpath,$nccl" 2> build.log; then
    # Reductions that differ do not hang with NCCL, so they are not among them.
    "$python" "$here/collectives.py" ./ranks "$rounds" 2 > random.txt 2>&1
    code=$?
    last=$(tail -n 1 random.txt)
    if [ "$code" = 0 ]; then say PASS "random: $last"; else say FAIL "random: $last"; fi
else
    say FAIL "random: the program was not built (build.log)"
fi
exit $failed
