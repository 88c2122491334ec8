#!/bin/bash
# Runs cudest on a real GPU: results, measurements beside libcuda, faults last. DIR has the programs `hopper` and `vecadd`
# of crates/cudest/examples, kernels.cubin, and cudest_libcuda.c. Usage: cudest.sh DIR [PART...]
cd "$1" || exit 1
shift
parts=" ${*:-check bench processes faults} "
chmod +x hopper vecadd
test_() { timeout -k 2 "$1" ./hopper kernels.cubin "${@:2}" || echo "EXIT $? of ${*:2}"; }
xids() { dmesg 2>/dev/null | grep -i xid | tail -n "${1:-5}"; }
nvidia-smi --query-gpu=name,driver_version,memory.used --format=csv,noheader

if [[ $parts == *" check "* ]]; then
  for _ in 1 2 3; do timeout 20 ./vecadd kernels.cubin || echo "EXIT $?"; done
  test_ 20 facts
  for t in kernels shapes globals large local chain chain-idle random=2000 copies pageable memory events matmul contexts fork; do test_ 15 $t; done
fi
if [[ $parts == *" bench "* ]]; then
  gcc -O2 -o libcuda_ cudest_libcuda.c -ldl
  for round in 1 2 3; do
    for t in launch streams; do echo "libcuda $(timeout 30 ./libcuda_ kernels.cubin $t)"; test_ 30 $t; done
    test_ 30 launch-idle
    for i in 1 2 3; do timeout 20 ./libcuda_ kernels.cubin first; timeout 20 ./vecadd kernels.cubin | head -1; done
  done
  test_ 30 overlap overlap-idle
  for round in 1 2; do echo "libcuda $(timeout 60 ./libcuda_ kernels.cubin bandwidth)"; test_ 60 bandwidth; done
fi
if [[ $parts == *" processes "* ]]; then
  echo "two processes:"; test_ 60 random=2000 & test_ 60 random=2000 & wait
  echo "kill -9 during a kernel:"; ./hopper kernels.cubin spin=20 & victim=$!; sleep 1.5; kill -9 $victim; wait $victim 2>/dev/null; test_ 30 kernels
fi
if [[ $parts == *" minute "* ]]; then test_ 80 spin=60; fi
if [[ $parts == *" many "* ]]; then test_ 120 random=10000; fi
if [[ $parts == *" faults "* ]]; then
  test_ 30 pointer; xids
  test_ 30 trap; xids
  test_ 30 kernels
fi
