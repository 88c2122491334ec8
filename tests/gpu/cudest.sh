#!/bin/bash
# Runs cudest on a real GPU: results, measurements beside libcuda, faults last. DIR has the programs `hopper` and `vecadd`
# of crates/cudest/examples, kernels*.cubin, and cudest_libcuda.c. Usage: cudest.sh DIR [PART...]
cd "$1" || exit 1
shift
parts=" ${*:-check bench processes minute faults} "
chmod +x hopper vecadd
run_() { timeout -k 2 "$1" ./hopper "${@:2}" 2>&1 | cut -c1-500; }
test_() { run_ "$1" kernels.cubin "${@:2}"; }
xids() { dmesg 2>/dev/null | grep -iE "xid|gsp" | tail -n "${1:-3}"; }
nvidia-smi --query-gpu=name,driver_version,memory.used --format=csv,noheader
[[ -x ./cutap ]] && ./cutap devices

if [[ $parts == *" bench "* ]]; then
  gcc -O2 -o libcuda_ cudest_libcuda.c -ldl
  for round in 1 2; do
    for t in launch streams; do echo "libcuda $(timeout 30 ./libcuda_ kernels.cubin $t)"; test_ 30 $t; done
    for i in 1 2 3; do timeout 20 ./libcuda_ kernels.cubin first; timeout 20 ./vecadd kernels.cubin; done
  done
  for t in launch-keep launch-idle streams-keep overlap overlap-keep overlap-idle; do test_ 20 $t; done
  echo "libcuda $(timeout 60 ./libcuda_ kernels.cubin bandwidth)"; test_ 60 bandwidth
fi
if [[ $parts == *" check "* ]]; then
  for t in kernels shapes globals large local chain chain-idle random=10000 copies pageable memory mapping events matmul contexts fork; do test_ 10 $t; done
  for cubin in kernels-*.cubin; do echo "$cubin:"; for t in kernels shapes globals matmul; do run_ 10 $cubin $t; done; done
fi
if [[ $parts == *" minute "* ]]; then (run_ 80 kernels.cubin spin=60) & fi
if [[ $parts == *" processes "* ]]; then
  for round in 1 2 3; do echo "two processes:"; test_ 10 random=3000 & test_ 10 random=3000 & wait -n; wait -n; done
  echo "kill -9 during a kernel:"; ./hopper kernels.cubin spin=20 & victim=$!; sleep 1.5; kill -9 $victim; wait $victim 2>/dev/null; test_ 10 kernels
fi
wait
if [[ $parts == *" faults "* ]]; then
  for t in pointer trap kernels; do test_ 10 $t; xids; done
fi
xids 10
