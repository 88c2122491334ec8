#!/usr/bin/env bash
# cutap chaos over 50 call sites of a step of PyTorch on a real GPU, and rules whose faults the real runtime sees.
#
#   tests/gpu/chaos.sh CUTAP PYTHON OUT
#
# PYTHON has PyTorch. It prints PASS and FAIL lines; OUT gets the logs. CHAOS_BUDGET: time of the 50 sites (8m). The
# program may crash at a site, which is a finding. cutap may not: no stack of a crash has its libraries on top.
set -u
if [ $# -lt 3 ]; then
    sed -n '4,7s/^# \?//p' "$0" >&2
    exit 2
fi
cutap=$(realpath "$1") python=$2 out=$(realpath -m "$3")
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"
cd "$out" || exit 2
failed=0
say() {
    echo "$1 $2"
    [ "$1" = PASS ] || failed=1
}

cat > step.py <<'PYTHON'
import torch
torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 8)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(64, 256).cuda(), torch.randint(0, 8, (64,)).cuda()
for _ in range(2):
    optimizer.zero_grad(set_to_none=True)
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
torch.cuda.synchronize()
print("finite", bool(torch.isfinite(loss)))
PYTHON

code=0
"$cutap" chaos --budget "${CHAOS_BUDGET:-8m}" --sites 50 --junit chaos.xml -- "$python" step.py > chaos.txt 2> chaos.err || code=$?
tail -n 1 chaos.txt
if [ "$code" -le 1 ]; then say PASS "chaos ended with $code"; else say FAIL "chaos ended with $code (chaos.err)"; fi
tested=$(sed -n 's/^\([0-9]*\) of [0-9]* call sites tested.*/\1/p' chaos.txt)
if [ "${tested:-0}" -ge 50 ]; then
    say PASS "50 sites were tested"
else
    say FAIL "${tested:-0} sites were tested: give a longer CHAOS_BUDGET, or the step has fewer"
fi

# Each crash once more, under gdb: was cutap in the stack?
grep -A1 '^crash' chaos.txt | sed -n 's/^ *cutap run \(.*\) -- .* step.py$/\1/p' > crashes.txt
number=0
while read -r arguments; do
    number=$((number + 1))
    eval "timeout 120 '$cutap' run $arguments -- gdb -q -batch -ex run -ex bt --args '$python' step.py" \
        > "stack.$number" 2>&1 < /dev/null
    if ! grep -q '^#0' "stack.$number"; then
        say FAIL "no stack of crash $number (stack.$number): is gdb installed?"
    elif grep -E '^#[0-3] .*(libcutap|cutap-inject)' "stack.$number"; then
        say FAIL "crash $number is inside cutap"
    else
        say PASS "crash $number is outside of cutap"
    fi
done < crashes.txt
[ "$number" -gt 0 ] || say PASS "no site crashed"

# A fault stays, as a real one does.
cat > fault.py <<'PYTHON'
import torch
b = torch.ones(1024, device="cuda") + 1
errors = []
for _ in range(3):
    try:
        torch.cuda.synchronize()
        errors.append("none")
    except RuntimeError as error:
        errors.append("illegal" if "illegal memory access" in str(error) else str(error).splitlines()[0])
print(errors)
PYTHON
"$cutap" run -q --inject 'cuLaunchKernel*:error=CUDA_ERROR_ILLEGAL_ADDRESS:when=1' -- "$python" fault.py \
    > fault.out 2> fault.err
if [ "$(cat fault.out)" = "['illegal', 'illegal', 'illegal']" ]; then
    say PASS "PyTorch sees an illegal address that stays"
else
    say FAIL "PyTorch does not see an illegal address that stays (fault.out, fault.err)"
fi

# Shipped rules: the program ends within the time, and the record has what they did.
for rules in "$here"/../../docs/rules/*.toml; do
    name=$(basename "$rules" .toml)
    [ "$name" != hanging-collective ] || continue
    timeout 120 "$cutap" record -o "$name.cutap" --rules "$rules" -- "$python" step.py > "$name.out" 2> "$name.err"
    code=$?
    acted=$("$cutap" show "$name.cutap" | grep -c "\[rule '")
    if [ "$code" -lt 124 ] && { [ "$acted" -gt 0 ] || grep -q 'did nothing' "$name.err"; }; then
        say PASS "$name: exit code $code, $acted calls"
    else
        say FAIL "$name: exit code $code, $acted calls ($name.err)"
    fi
done
exit "$failed"
