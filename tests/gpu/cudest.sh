#!/bin/bash
# Runs cudest on a real GPU: results, measurements beside libcuda, faults last. DIR has the programs `hopper` and `vecadd`
# of crates/cudest/examples, the files of its tests/cubins, and cudest_libcuda.c. Usage: cudest.sh DIR [PART...]
# Parts: bench check attributes user uvm cooperative code random keep inline processes minute faults. `minute` runs
# alone.
cd "$1" || exit 1
shift
parts=" ${*:-bench check attributes user uvm cooperative code random keep inline processes minute faults} "
chmod +x hopper vecadd
run_() { timeout -k 2 "$1" ./hopper "${@:2}" 2>&1 | cut -c1-1500; }
test_() { run_ "$1" kernels.cubin "${@:2}"; }
xids() { dmesg 2>/dev/null | grep -iE "xid|gsp" | tail -n "${1:-3}"; }
has() { [[ $parts == *" $1 "* ]] && echo "== $1, $SECONDS s"; }
nvidia-smi --query-gpu=name,driver_version,memory.used --format=csv,noheader
[[ -x ./cutap ]] && ./cutap devices

gcc -O2 -o libcuda_ cudest_libcuda.c -ldl
nvcc=$(command -v nvcc || ls /usr/local/cuda*/bin/nvcc 2>/dev/null | head -n 1)
[[ -n $nvcc ]] && PATH=$PATH:$(dirname "$nvcc")

if has bench; then
  for round in 1 2; do
    for t in launch streams; do echo "libcuda $(timeout 30 ./libcuda_ kernels.cubin $t)"; test_ 30 $t; done
    for i in 1 2 3; do timeout 20 ./libcuda_ kernels.cubin first; timeout 20 ./vecadd kernels.cubin; done
    echo "libcuda $(timeout 60 ./libcuda_ kernels.cubin bandwidth)"
    test_ 60 bandwidth
  done
  echo "libcuda $(timeout 20 ./libcuda_ kernels.cubin use)"
  test_ 10 requests
  test_ 10 requests@uvm
  for t in launch@keep launch@idle streams@keep streams@idle overlap overlap@keep overlap@idle; do test_ 20 $t; done
fi
if has check; then
  for t in kernels shapes globals large local chain chain@idle random=10000 copies within fills pageable memory mapping \
    events lanes matmul contexts use fork; do test_ 10 $t; done
  for cubin in kernels-*.cubin; do echo "$cubin:"; for t in kernels shapes globals matmul; do run_ 10 $cubin $t; done; done
fi
if has attributes; then
  # Those that differ are DIFFERENCES in crates/cudest/src/machine/attributes.rs.
  each() { grep -oE '\b[0-9]+=(-?[0-9]+|\?)' | sort; }
  timeout 30 ./libcuda_ kernels.cubin attributes | each >attributes.libcuda
  timeout 10 ./hopper kernels.cubin attributes | each >attributes.cudest
  echo "$(comm -12 attributes.libcuda attributes.cudest | wc -l) device attributes equal; of libcuda and of cudest:"
  comm -3 attributes.libcuda attributes.cudest
fi
if has user; then
  # An ordinary user without groups, in a folder that is not root's.
  place=$(mktemp -d)
  cp vecadd kernels.cubin "$place"
  [[ -x ./cutap ]] && cp cutap "$place"
  chmod -R a+rX "$place"
  nobody() { (cd "$place" && timeout 20 setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all "$@" 2>&1); }
  nobody id
  nobody ./vecadd kernels.cubin
  [[ -x ./cutap ]] && nobody ./cutap devices
  rm -r "$place"
fi
if has uvm; then
  for i in 1 2 3; do timeout 20 ./vecadd kernels.cubin 65536 uvm; done
  for t in mode kernels shapes globals large local chain random=10000 copies within fills pageable memory mapping events \
    lanes matmul contexts use cooperative launch streams bandwidth; do test_ 15 $t@uvm; done
fi
if has cooperative; then
  test_ 20 cooperative
  test_ 20 cooperative@uvm
  # The same kernel with the headers of cooperative groups.
  [[ -n $nvcc && ! -e cg.cubin ]] && "$nvcc" -cubin -arch=sm_90 -DCOOPERATIVE_HEADERS -o cg.cubin cooperative.cu
  [[ -e cg.cubin ]] && test_ 20 cooperative=cg.cubin
fi
if has code; then
  for f in small*.fatbin small.ptx; do test_ 20 code=$f; done
  for mode in "" -no-compress -compress-mode=speed -compress-mode=size; do
    [[ -n $nvcc ]] && "$nvcc" -fatbin $mode -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=[sm_90,compute_90] -o own.fatbin small.cu &&
      { echo "nvcc -fatbin $mode"; test_ 20 code=own.fatbin; }
  done
  echo "an error, since there is no compiler:"
  CUTAP_PTXAS=/none test_ 20 code=small.ptx
fi
if has random; then
  # Waits between streams, by one process and by two: a lane that stops shows here.
  for i in $(seq 15); do test_ 8 random=10000; done
  for i in $(seq 10); do test_ 8 random=3000 & test_ 8 random=3000 & wait -n; wait -n; done
fi
if has keep; then
  for t in chain random=10000 copies events gate; do test_ 10 $t@keep; done
  test_ 10 gate
  for round in $(seq 15); do echo "two processes:"; test_ 10 random=3000@keep & test_ 10 random=3000@keep & wait -n; wait -n; done
fi
if has inline; then
  # Who writes launch descriptors: the CPU, or methods in system memory (@inline) or video memory (@near). An option whose
  # kernels fail is left out.
  usable=("")
  for option in @inline @near; do
    answer=$(test_ 10 kernels$option)
    echo "$answer"
    if [[ $answer == ok* ]]; then usable+=("$option"); else xids; fi
  done
  for round in 1 2; do
    for t in launch streams random=10000 chain copies; do for o in "${usable[@]}"; do test_ 20 $t$o; done; done
    for t in launch streams; do for o in "${usable[@]}"; do test_ 20 $t@keep$o; done; done
    for t in launch streams; do for o in "${usable[@]}"; do test_ 20 $t@idle$o; done; done
    for o in "${usable[@]}"; do test_ 20 mode$o; done
  done
  for o in "${usable[@]:1}"; do
    for t in shapes globals large local events lanes matmul cooperative launch@uvm random=3000@uvm; do test_ 20 $t$o; done
    echo "two processes:"
    test_ 10 random=3000$o & test_ 10 random=3000$o & wait -n; wait -n
  done
  xids
fi
if has processes; then
  for round in 1 2 3; do echo "two processes:"; test_ 10 random=3000 & test_ 10 random=3000 & wait -n; wait -n; done
  echo "kill -9 during a kernel:"; ./hopper kernels.cubin spin=20 & victim=$!; sleep 1.5; kill -9 $victim; wait $victim 2>/dev/null; test_ 10 kernels
fi
if has minute; then test_ 80 spin=60; xids; fi
wait
if has faults; then
  for t in pointer trap kernels pointer@uvm kernels; do test_ 10 $t; xids; done
fi
xids 10
