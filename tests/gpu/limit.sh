#!/usr/bin/env bash
# `--limit-memory` on a real GPU. At most 8 minutes, one GPU.
#
#   tests/gpu/limit.sh CUTAP OUT [PART...]
#
# Parts: ways contexts torch cost loop. Lines: PASS, FAIL or SKIP, the part, and what was seen. Numbers of `cost` and
# `loop` are to be read: they never fail.
set -u
cutap=$(realpath "$1") out=$(realpath -m "$2")
shift 2
here=$(cd "$(dirname "$0")" && pwd)
parts=" ${*:-ways contexts torch cost loop} "
mkdir -p "$out" && cd "$out" || exit 2
failed=0
python=$(command -v python3)
say() {
  echo "$1 $2: $3"
  if [[ $1 = FAIL ]]; then failed=1; fi
}
nvidia-smi --query-gpu=name,driver_version,memory.used --format=csv,noheader

gcc -w -O1 -std=gnu17 -o driver_paths "$here/../programs/limit/driver_paths.c" -ldl || exit 2
gcc -w -O1 -std=gnu17 -o limit_cost "$here/programs/limit_cost.c" -ldl || exit 2

# Each way of the driver under 1 GiB: 24 MiB at a time, 42 of them fit. Steps of a pool and of a graph may take some, so fewer are right
# and more are not. Memory of the host is given 64 times. The second round must give as many as the first.
if [[ $parts = *" ways "* ]]; then
  for way in $(seq 0 15); do
    line=$(timeout 60 "$cutap" run --limit-memory 1GiB -- ./driver_paths "$way" 2> "ways.$way.err")
    read -r first second error rest <<< "$(sed -E 's/^.{38} *//; s/error //' <<< "$line")"
    case $line in
      cuMemHost*) [[ $first = 64 && $second = 64 ]] && right=PASS || right=FAIL ;;
      *) [[ $first = "$second" && $first -le 52 && $first -ge 32 && $error = 2 && $rest = "all free" ]] && right=PASS || right=FAIL ;;
    esac
    say "$right" "ways" "$line"
  done
fi

# What a context takes is not counted: how much that is, as nvidia-smi says from outside.
if [[ $parts = *" contexts "* ]]; then
  "$cutap" run --limit-memory 1GiB -- "$python" - > contexts.txt << 'PROGRAM'
import ctypes, os, subprocess
driver = ctypes.CDLL("libcuda.so.1")
context, at = ctypes.c_void_p(), ctypes.c_uint64()
driver.cuInit(0)
driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
driver.cuCtxSetCurrent(context)
print(driver.cuMemAlloc_v2(ctypes.byref(at), ctypes.c_size_t(256 << 20)))
environment = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "CUTAP_RUN")}
query = ["nvidia-smi", "--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits"]
print(subprocess.run(query, env=environment, capture_output=True, text=True).stdout.strip())
PROGRAM
  say PASS contexts "256 MiB and a context: $(tr '\n' ' ' < contexts.txt)(pid, MiB; empty where pids are hidden)"
fi

if ! "$python" -c 'import torch' 2> /dev/null; then
  echo "SKIP torch loop: there is no torch"
  parts=${parts// torch / } parts=${parts// loop / }
fi

# Two processes run into one limit, catch it and continue.
if [[ $parts = *" torch "* ]]; then
  if timeout 300 "$cutap" run --limit-memory 4GiB -- "$python" "$here/programs/limit_torch.py" 4096 > torch.txt 2> torch.err; then
    say PASS torch "$(tr '\n' ' ' < torch.txt)"
  else
    say FAIL torch "$(tail -n 3 torch.txt torch.err | tr '\n' ' ')"
  fi
  grep -q 'refused cuMemAlloc' torch.err && say PASS torch "the note names the call" || say FAIL torch "no note: $(tail -n 2 torch.err)"
fi

# Nanoseconds of a call, with and without, in turn.
if [[ $parts = *" cost "* ]]; then
  rm -f cost.*
  for _ in 1 2 3; do
    ./limit_cost >> cost.plain
    "$cutap" run -q --limit-memory 8GiB -- ./limit_cost >> cost.limit
  done
  for name in $(cut -d' ' -f1 cost.plain | sort -u); do
    middle() { awk -v name="$name" '$1 == name { print $2 }' "$1" | sort -n | sed -n 2p; }
    say PASS cost "$name: $(middle cost.plain) ns, with a limit $(middle cost.limit) ns"
  done
fi

# Steps a second of a loop with an armed limit and without, in turn.
if [[ $parts = *" loop "* ]]; then
  rm -f loop.*
  for _ in 1 2 3 4 5; do
    "$python" "$here/programs/limit_torch.py" loop 6 >> loop.plain
    "$cutap" run -q --limit-memory 32GiB -- "$python" "$here/programs/limit_torch.py" loop 6 >> loop.limit
  done
  middle() { sort -n "$1" | sed -n 3p; }
  say PASS loop "$(middle loop.plain) steps a second, with a limit $(middle loop.limit)"
fi
exit "$failed"
