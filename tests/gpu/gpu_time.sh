#!/usr/bin/env bash
# Proves cutap record --gpu-time on this machine, part by part. A part is a script in gpu_time/ with a limit of seconds.
#
#   tests/gpu/gpu_time.sh CUTAP PYTHON OUT [PART...]
#
# Without a PART all run, in this order: same counts graphs off kill clocks stress cost_loops cost_step cost_chatter
# cost_floor second_cupti ranges.
# A part prints PASS, FAIL and SKIP lines; the last lines count them. OUT gets a log of each part: commands and what they
# printed.
# Sizes: GPU_TIME_JOBS, _LAUNCHES, _ROUNDS, _COUNT_ROUNDS, _STRESS_SECONDS, _STRESS_REPLAYS, _COST_SECONDS,
# _CLOCK_SECONDS.
# GPU_TIME_WORK names a folder for programs and recordings, which is kept. GPU_TIME_CUPTI_NEWER names a libcupti.so of
# 13.3 or later (of a wheel), without which programs with subscribers are left out.
# GPU_TIME_ENGINE=--sim tries the C programs on the simulated driver, as a test of these scripts.
set -u
if [ $# -lt 3 ]; then
    sed -n '4,14s/^# \?//p' "$0" >&2
    exit 2
fi
GPU_TIME_CUTAP=$(realpath "$1")
python=$2 out=$(realpath -m "$3")
here=$(cd "$(dirname "$0")" && pwd)
shift 3
export GPU_TIME_CUTAP GPU_TIME_LOG GPU_TIME_WORK
declare -A limits=([same]=420 [counts]=240 [graphs]=240 [off]=120 [kill]=90 [clocks]=60 [stress]=240)
limits+=([cost_loops]=240 [cost_step]=480 [cost_chatter]=480 [cost_floor]=540 [ranges]=280)
parts=("$@")
[ $# -gt 0 ] || parts=(same counts graphs off kill clocks stress cost_loops cost_step cost_chatter)
[ $# -gt 0 ] || parts+=(cost_floor second_cupti ranges)
kept=${GPU_TIME_WORK:-}
GPU_TIME_WORK=$(realpath -m "${kept:-$(mktemp -d)}")
mkdir -p "$out" "$GPU_TIME_WORK"
lines=$GPU_TIME_WORK/lines
: > "$lines"
for part in "${parts[@]}"; do
    GPU_TIME_LOG=$out/$part.log
    : > "$GPU_TIME_LOG"
    echo "== $part"
    begin=$SECONDS
    timeout --kill-after=10 "${limits[$part]:-240}" "$python" -u "$here/gpu_time/$part.py" 2>> "$GPU_TIME_LOG" |
        tee -a "$GPU_TIME_LOG" "$lines"
    code=${PIPESTATUS[0]}
    if [ "$code" != 0 ]; then
        why="exit $code"
        [ "$code" != 124 ] && [ "$code" != 137 ] || why="not finished in ${limits[$part]:-240} s"
        echo "FAIL $part: $why; $(tail -n 1 "$GPU_TIME_LOG" | cut -c1-200)" | tee -a "$lines"
    fi
    echo "   $part took $((SECONDS - begin)) s"
done
echo "== summary"
for word in PASS FAIL SKIP; do
    names=$(sed -n "s/^$word \([^:]*\):.*/\1/p" "$lines" | paste -sd, | sed 's/,/, /g')
    echo "$word $(grep -c "^$word " "$lines"): ${names:-none}"
done
failed=$(grep -c '^FAIL ' "$lines")
[ -n "$kept" ] || rm -rf "$GPU_TIME_WORK"
exit $((failed > 0))
