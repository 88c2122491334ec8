#!/usr/bin/env bash
# Programs with NVIDIA's libcuda and with cutap's driver (`cutap run --cudest`), at the same time: the same output and
# exit code, and no libcuda of NVIDIA's in a process of ours. At most 8 minutes.
#
#   tests/gpu/driver.sh CUTAP OUT [PART...]
#
# LIBCUDA_FOLDER names a folder `cudest` with another build of our libcuda.so.1, which is used instead of cutap's.
#
# A part is a program: own addresses random tensor_box driver_api saxpy fill sgemm mlp ops gpt gpt_bfloat resnet graph
# streams memory expandable threads compiled triton cupy refused layers. CUBIN names kernels-12.9-sm_90.cubin of crates/cudest/tests/cubins, where it is
# not beside this folder. Lines: PASS, FAIL or SKIP, the part, seconds with NVIDIA's driver and with ours.
set -u
cutap=$(realpath "$1") out=$(realpath -m "$2")
shift 2
here=$(cd "$(dirname "$0")" && pwd)
programs=$here/programs
cubin=${CUBIN:-$here/../../crates/cudest/tests/cubins/kernels-12.9-sm_90.cubin}
own=${OWN_DRIVER:-$here/../programs/cudest/own_driver.c}
parts=" ${*:-own addresses random tensor_box driver_api saxpy fill sgemm graph mlp memory expandable streams threads ops gpt resnet gpt_bfloat cupy triton compiled refused layers} "
mkdir -p "$out" && cd "$out" || exit 2
failed=0
python=$(command -v python3)
has_module() { "$python" -c "import $1" 2> /dev/null; }
gcc -shared -fPIC -O1 -o mapped.so "$programs/mapped_libcuda.c" || exit 2
nvcc=$(command -v nvcc || ls /usr/local/cuda*/bin/nvcc 2> /dev/null | head -n 1)
ptxas=$(command -v ptxas || ls /usr/local/cuda*/bin/ptxas 2> /dev/null | head -n 1)
[[ -z $ptxas ]] && ptxas=$("$python" -c 'import triton, glob, os; print(next(iter(glob.glob(os.path.join(os.path.dirname(triton.__file__), "backends/nvidia/bin/ptxas"))), ""))' 2> /dev/null)
[[ -n $ptxas ]] && export CUTAP_PTXAS=$ptxas
echo "ptxas: ${ptxas:-none}; nvcc: ${nvcc:-none}"
nvidia-smi --query-gpu=name,driver_version,memory.used --format=csv,noheader
library=$(ldconfig -p | grep -o '/[^ ]*libcuda.so.1$' | head -n 1)

# One program with one driver: NAME SECONDS theirs|ours COMMAND...
one() {
  local name=$1 limit=$2 driver=$3 start=$EPOCHREALTIME
  shift 3
  rm -f "$name.$driver.maps"
  local before=()
  [[ $driver = ours ]] && before=("$cutap" run --cudest --)
  [[ $driver = ours && -n ${LIBCUDA_FOLDER:-} ]] && before=(env "LD_LIBRARY_PATH=$LIBCUDA_FOLDER:${LD_LIBRARY_PATH:-}")
  # A process that hangs is ended with all that it has started.
  MAPPED_LIBCUDA=$PWD/$name.$driver.maps LD_PRELOAD=$PWD/mapped.so TORCHINDUCTOR_CACHE_DIR=$PWD/$driver.inductor \
    TRITON_CACHE_DIR=$PWD/$driver.triton CUPY_CACHE_DIR=$PWD/$driver.cupy PYTHONPATH=$programs \
    timeout -k 5 "$limit" "${before[@]}" "$@" > "$name.$driver.txt" 2> "$name.$driver.err"
  echo "$? $(awk "BEGIN { printf \"%.1f\", $EPOCHREALTIME - $start }")" > "$name.$driver.end"
}

# A program with both drivers: NAME SECONDS COMMAND...
both() {
  local name=$1 code_theirs seconds_theirs code_ours seconds_ours why=""
  [[ $parts == *" $name "* ]] || return
  one "$name" "$2" theirs "${@:3}" &
  one "$name" "$2" ours "${@:3}" &
  wait
  read -r code_theirs seconds_theirs < "$name.theirs.end"
  read -r code_ours seconds_ours < "$name.ours.end"
  [[ $code_theirs = "$code_ours" ]] || why+=" exit $code_theirs and $code_ours;"
  cmp -s "$name.theirs.txt" "$name.ours.txt" || why+=" other output;"
  grep -q "/cudest/libcuda.so" "$name.ours.maps" 2> /dev/null || why+=" our libcuda is not mapped;"
  local foreign
  foreign=$(grep -v "/cudest/libcuda.so" "$name.ours.maps" 2> /dev/null | sort -u | tr '\n' ' ')
  [[ -z $foreign ]] || why+=" mapped: $foreign;"
  local refused
  refused=$(grep "cutap-cudest:" "$name.ours.err" | cut -c1-300 | sort | uniq -c | head -12)
  if [[ -z $why ]]; then
    echo "PASS $name $seconds_theirs $seconds_ours"
  else
    echo "FAIL $name $seconds_theirs $seconds_ours:$why"
    diff "$name.theirs.txt" "$name.ours.txt" | head -20 | cut -c1-200
    grep -v "cutap-cudest:" "$name.ours.err" | tail -5 | cut -c1-300
    failed=1
  fi
  [[ -z $refused ]] || echo "$refused"
}

skip() { [[ $parts == *" $1 "* ]] && echo "SKIP $1: $2"; }

gcc -O1 -o own_driver "$own" "$library" && both own 40 ./own_driver "$cubin" computed
gcc -O1 -o addresses "$(dirname "$own")/chosen_addresses.c" "$library" && both addresses 40 ./addresses "$cubin" computed
# Another SEED makes other launches.
gcc -O1 -o random "$(dirname "$own")/random_launches.c" "$library" && both random 60 ./random "$cubin" computed "${SEED:-1}"
gcc -O1 -o tensor_box "$programs/tensor_box.c" "$library" && both tensor_box 40 ./tensor_box "${cubin/kernels/launches}" 2
if [[ $parts == *" driver_api "* ]]; then
  if [[ -n $ptxas ]]; then
    gcc -O1 -w -o driver_api "$programs/driver_api.c" "$library" -ldl && both driver_api 30 ./driver_api
  else
    skip driver_api "no ptxas"
  fi
fi
if [[ $parts == *" saxpy "* ]]; then
  if [[ -n $nvcc ]] && "$nvcc" -cudart static -arch=sm_90 -o saxpy "$programs/saxpy.cu" 2> nvcc.err; then
    both saxpy 30 ./saxpy
  else
    skip saxpy "no nvcc"
  fi
fi
if has_module torch; then
  for part in fill sgemm graph mlp memory streams threads; do both $part 60 "$python" "$programs/driver_torch.py" $part; done
  both ops 100 "$python" "$programs/driver_torch.py" ops
  PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True both expandable 80 "$python" "$programs/driver_torch.py" expandable
  for part in gpt resnet gpt_bfloat; do both $part 80 "$python" "$programs/driver_torch.py" $part; done
else
  echo "SKIP all of PyTorch: it cannot be imported"
fi
if has_module cupy; then both cupy 80 "$python" "$programs/driver_cupy.py"; else skip cupy "it cannot be imported"; fi
if has_module triton; then
  both triton 80 "$python" "$programs/driver_torch.py" triton
  both compiled 120 "$python" "$programs/driver_torch.py" compiled
else
  skip triton "it cannot be imported"
fi
if [[ $parts == *" layers "* ]]; then
  # The layers of cutap above our driver: calls, submissions, requests to the kernel driver.
  timeout 60 "$cutap" record -q --cudest -e driver,submit,syscall -o layers.cutap -- ./own_driver "$cubin" computed > layers.txt 2> layers.err
  code=$?
  submits=$("$cutap" show -e submit layers.cutap 2> /dev/null | grep -c "\[submit\]")
  requests=$("$cutap" show -e syscall layers.cutap 2> /dev/null | grep -c NV_ESC_RM)
  if [[ $code = 7 && $submits -gt 500 && $requests -gt 20 ]]; then
    echo "PASS layers: $submits submissions, $requests requests"
  else
    echo "FAIL layers: exit $code, $submits submissions, $requests requests"
    tail -3 layers.err
    failed=1
  fi
fi
if [[ $parts == *" refused "* ]]; then
  # A machine that cannot is refused in one sentence, before the program starts.
  for case in "--gpu-time" "--sim"; do
    text=$("$cutap" record --cudest $case -o none.cutap -- true 2>&1)
    code=$?
    if [[ $code = 125 && $text == *--cudest* ]]; then echo "PASS refused $case"; else echo "FAIL refused $case: $code $text"; failed=1; fi
  done
fi
dmesg 2> /dev/null | grep -iE "xid" | tail -n 5
nvidia-smi --query-gpu=memory.used --format=csv,noheader
exit $failed
