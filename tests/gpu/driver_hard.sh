#!/usr/bin/env bash
# Hard use of cutap's driver (`cutap run --cudest`) on a GPU: faults, killed processes, many processes, threads, long
# training. The part `training` takes SECONDS_OF_TRAINING (470), so that a call stays below 10 minutes; the others 6 minutes.
#
#   tests/gpu/driver_hard.sh CUTAP OUT [PART...]
#
# Parts: faults killed short threads churn two training; without PART all but training. CUBINS is a folder with the cubins of
# crates/cudest/tests/cubins, where it is not beside this folder. Lines: PASS or FAIL, the part, and what was seen. A part
# fails if a program hangs, gives another result than NVIDIA's driver, leaves GPU memory in use, or has an Xid that it did
# not provoke. NVML reports Xids; where it cannot, the kernel's log is read, and where neither can be, the script says so.
set -u
cutap=$(realpath "$1") out=$(realpath -m "$2")
shift 2
here=$(cd "$(dirname "$0")" && pwd)
programs=$here/programs
cubins=$(realpath "${CUBINS:-$here/../../crates/cudest/tests/cubins}")
sources=${SOURCES:-$here/../programs/cudest}
parts=" ${*:-faults killed short threads churn two} "
faults=$cubins/faults-ptxas-12.9-sm_90.cubin kernels=$cubins/kernels-12.9-sm_90.cubin
mkdir -p "$out" && cd "$out" || exit 2
failed=0
python=$(command -v python3)
library=$(ldconfig -p | grep -o '/[^ ]*libcuda.so.1$' | head -n 1)
gcc -O1 -o hard_use "$sources/hard_use.c" "$library" -lpthread || exit 2
gcc -O1 -o random "$sources/random_launches.c" "$library" || exit 2
gcc -O1 -o xid_watch "$programs/xid_watch.c" -ldl || exit 2
nvidia-smi --query-gpu=name,driver_version,memory.used --format=csv,noheader

./xid_watch > xids.txt &
watch=$!
trap 'kill $watch 2> /dev/null' EXIT
sleep 1
source_of_xids=NVML
if ! grep -q listening xids.txt; then
  source_of_xids="the kernel's log"
  dmesg > /dev/null 2>&1 || source_of_xids="nothing: neither NVML's events nor the kernel's log can be read"
fi
echo "Xids are read from $source_of_xids"
xids() {
  case $source_of_xids in
    NVML) sed -n 's/^[0-9]* \([0-9]*\)$/\1/p' xids.txt ;;
    the*) dmesg | sed -n 's/.*Xid (.*): \([0-9]*\),.*/\1/p' ;;
  esac
}
memory() { nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits | awk '{ all += $1 } END { print all }'; }

# begin PART; ... ; end PART XIDS-THAT-MAY-COME WHAT: PASS unless `why` is set.
begin() { why="" memory_before=$(memory) xids_before=$(xids | wc -l) began=$EPOCHREALTIME; }
end() {
  local part=$1 allowed=" $2 " seen="" xid used
  sleep 1
  for xid in $(xids | tail -n "+$((xids_before + 1))"); do
    seen+=" $xid"
    [[ $allowed == *" $xid "* ]] || why+=" Xid $xid was not provoked;"
  done
  # What a process leaves is given back a moment after its end.
  for _ in 1 2 3 4 5; do
    used=$(memory)
    ((used <= memory_before + 8)) && break
    sleep 1
  done
  ((used <= memory_before + 8)) || why+=" GPU memory in use: $memory_before MiB before, $used after;"
  local seconds
  seconds=$(awk "BEGIN { printf \"%.1f\", $EPOCHREALTIME - $began }")
  if [[ -z $why ]]; then
    echo "PASS $part: $3; Xids:${seen:- none}; $seconds s"
  else
    echo "FAIL $part:$why Xids:${seen:- none}; $seconds s"
    failed=1
  fi
}
wants() { [[ $parts == *" $1 "* ]]; }
# NAME SECONDS PROGRAM...: with our driver; the exit code is the program's.
ours() { timeout -k 5 "$2" "$cutap" run --cudest -- "${@:3}" > "$1.ours.txt" 2> "$1.ours.err"; }
theirs() { timeout -k 5 "$2" "${@:3}" > "$1.theirs.txt" 2> "$1.theirs.err"; }

if wants faults; then
  for fault in address unmapped misaligned trapped asserts; do
    begin
    theirs "$fault" 30 ./hard_use "$faults" "$fault"
    code=$?
    ours "$fault" 30 ./hard_use "$faults" "$fault"
    code_ours=$?
    [[ $code = "$code_ours" ]] || why+=" exit $code and $code_ours;"
    cmp -s "$fault.theirs.txt" "$fault.ours.txt" || why+=" other output: $(diff "$fault.theirs.txt" "$fault.ours.txt" | grep '^[<>]' | head -12 | paste -sd,);"
    kernel=add
    [[ $fault = trapped || $fault = asserts ]] && kernel=$fault
    grep -q "cutap-cudest: error .* $kernel" "$fault.ours.err" || why+=" no kernel in: $(tail -n 1 "$fault.ours.err");"
    # The next process must find the GPU as if nothing had been.
    ours "$fault.after" 30 ./hard_use "$faults" short computed || true
    grep -q "^right: 1$" "$fault.after.ours.txt" || why+=" the process after it is wrong;"
    end "fault $fault" "13 31 43 45" "$(grep -m1 wait "$fault.ours.txt"), $(grep -o 'cutap-cudest: error.*' "$fault.ours.err" | cut -c1-200)"
  done
fi
if wants killed; then
  begin
  for round in 1 2 3 4 5; do
    "$cutap" run --cudest -- ./hard_use "$faults" endless > killed.txt 2> killed.err &
    started=$!
    for _ in $(seq 100); do grep -q running killed.txt && break || sleep 0.1; done
    grep -q running killed.txt || why+=" round $round: it never ran;"
    # The program may be a child of cutap.
    program=$(pgrep -f "^./hard_use $faults endless" | head -n 1)
    kill -9 "${program:-$started}"
    wait "$started" 2> /dev/null
    for _ in $(seq 50); do pgrep -f "^./hard_use $faults endless" > /dev/null || break; sleep 0.1; done
    pgrep -f "^./hard_use $faults endless" > /dev/null && why+=" round $round: it does not end;"
    ours killed.after 30 ./hard_use "$faults" short computed
    grep -q "^right: 1$" killed.after.ours.txt || why+=" round $round: the process after it is wrong;"
  done
  end killed "43 45" "5 processes killed with an endless kernel, the one after each is right"
fi
if wants short; then
  begin
  ours short 300 bash -c "for n in \$(seq ${SHORT:-1000}); do ./hard_use $faults short computed; done"
  right=$(grep -c "^right: 1$" short.ours.txt)
  [[ $right = "${SHORT:-1000}" ]] || why+=" $right are right: $(grep -v '^right: 1$' short.ours.txt | head -n 2) $(tail -n 1 short.ours.err);"
  end short "" "${SHORT:-1000} processes one after the other"
fi
if wants threads; then
  begin
  theirs threads 60 ./hard_use "$faults" threads computed 300
  for round in 1 2 3; do
    ours threads 60 ./hard_use "$faults" threads computed 300 || [[ $? = 7 ]] || why+=" round $round: exit;"
    cmp -s threads.theirs.txt threads.ours.txt || why+=" round $round: $(tail -n 1 threads.ours.txt) $(tail -n 1 threads.ours.err);"
  done
  end threads "" "64 threads, 3 times: $(tail -n 1 threads.ours.txt)"
fi
if wants churn; then
  begin
  ours churn 120 ./hard_use "$faults" churn computed 500
  grep -q "memory came back: 1" churn.ours.txt || why+=" $(tail -n 1 churn.ours.txt) $(tail -n 1 churn.ours.err);"
  end churn "" "500 rounds of streams, events, memory and modules"
fi
if wants two; then
  begin
  ours one 100 ./random "$kernels" computed 1 &
  one=$!
  ours other 100 ./random "$kernels" computed 2
  wait $one
  # Beside a process with NVIDIA's driver.
  ours third 100 ./random "$kernels" computed 3 &
  third=$!
  theirs fourth 100 ./random "$kernels" computed 3
  wait $third
  for name in one.ours other.ours third.ours fourth.theirs; do
    grep -q "the same as on the CPU: 8 of 8" $name.txt || why+=" $name: $(tail -n 1 $name.txt) $(tail -n 1 $name.err);"
  done
  cmp -s third.ours.txt fourth.theirs.txt || why+=" the drivers differ;"
  end two "" "two processes at once, then one beside NVIDIA's driver"
fi
if wants training; then
  begin
  seconds=${SECONDS_OF_TRAINING:-470}
  export CUBLAS_WORKSPACE_CONFIG=:4096:8
  theirs training $((seconds + 60)) "$python" "$programs/driver_training.py" "$seconds" &
  foreign=$!
  ours training $((seconds + 60)) "$python" "$programs/driver_training.py" "$seconds" || why+=" exit $?: $(tail -n 1 training.ours.err);"
  wait $foreign
  lines=$(grep -c '^step' training.ours.txt)
  lines_theirs=$(grep -c '^step' training.theirs.txt)
  both=$((lines < lines_theirs ? lines : lines_theirs))
  ((both > 3)) || why+=" $lines lines, NVIDIA's $lines_theirs;"
  diff <(grep '^step' training.theirs.txt | head -n "$both") <(grep '^step' training.ours.txt | head -n "$both") > training.diff || why+=" other losses: $(head -n 3 training.diff | paste -sd,);"
  grep -q "memory stays: True" training.ours.txt || why+=" $(grep memory training.ours.txt);"
  end training "" "$seconds s beside NVIDIA's driver, the first $both lines are the same: $(grep '^step' training.ours.txt | tail -n 1)"
fi
exit $failed
