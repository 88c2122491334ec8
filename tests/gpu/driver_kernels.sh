#!/bin/bash
# Kernels on cudest: words of constant bank 0, clusters, tensor maps, missing functions, fences. At most 3 minutes. DIR has
# the example `hopper` of crates/cudest, launches.cubin and kernels.cubin (tests/cubins/*-12.9-sm_90.cubin), and
# occupancy_clusters.c of tests/gpu/programs. Usage: driver_kernels.sh DIR. What libcuda answers goes to $OUT.
cd "$1" || exit 1
chmod +x hopper
out=${OUT:-.}
passed=0
failed=0
skipped=0
# Runs one test in a process, and says PASS or FAIL with its numbers.
test_() {
  local limit=$1 cubin=$2 name=$3 answer
  answer=$(timeout -k 2 "$limit" ./hopper "$cubin" "$name" 2>&1 | cut -c1-600)
  if [[ $answer == "ok "* ]]; then
    passed=$((passed + 1))
    echo "PASS ${answer#ok }"
  else
    failed=$((failed + 1))
    echo "FAIL $name: ${answer:-no answer in $limit s}"
    dmesg 2>/dev/null | grep -iE "xid" | tail -n 1
  fi
}
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
for option in "" @uvm; do
  for name in bank clusters exchange refused tensor calls constants fences; do test_ 12 launches.cubin "$name$option"; done
done
for name in kernels shapes globals large local chain random=3000 copies within fills events lanes fork cooperative; do
  test_ 10 kernels.cubin $name
done
# Order of one stream, with and without waits that give way to other streams.
for name in rate rate@keep; do test_ 15 launches.cubin $name; done
for name in overlap overlap@keep; do test_ 10 kernels.cubin $name; done
# Last: it ends its context.
test_ 10 launches.cubin reached
test_ 10 launches.cubin bank
if cc -O1 -o occupancy_clusters occupancy_clusters.c -ldl 2>/dev/null && timeout 60 ./occupancy_clusters launches.cubin >"$out/occupancy_clusters.jsonl"; then
  passed=$((passed + 1))
  echo "PASS libcuda's answers: $(wc -l <"$out/occupancy_clusters.jsonl") lines in $out/occupancy_clusters.jsonl"
else
  skipped=$((skipped + 1))
  echo "SKIP occupancy_clusters: no compiler or no libcuda"
fi
echo "$passed passed, $failed failed, $skipped skipped, $SECONDS s"
exit $((failed > 0))
