//! The fields of JSON lines on ranges of NVTX, for `json_schema`.

use crate::outputs::field_row::FieldRow;

/// `report --by range`.
pub const RANGE: &[FieldRow] = &[
    ("name", "string", "name of the ranges"),
    ("domain", "string", "domain; `nvtx` is the default one"),
    ("count", "integer", "ranges"),
    ("unfinished", "integer", "those of them that did not end"),
    ("total_ns", "integer", "time in all of them; of one that did not end, until the end of the run"),
    ("mean_ns", "integer", "mean"),
    ("min_ns", "integer", "shortest"),
    ("p50_ns", "integer", "median"),
    ("p95_ns", "integer", "95th percentile"),
    ("p99_ns", "integer", "99th percentile"),
    ("max_ns", "integer", "longest"),
    ("calls", "integer", "calls inside that are in no other call"),
    ("gpu_ns?", "integer", "time on the GPU of work that these calls submitted (`--gpu-time`)"),
    ("share", "number", "part of the time of the run, from 0 to 1; ranges of several threads may have more"),
    ("paths", "array", "the same numbers for each `path`: the names from the outermost range to this one"),
];

/// `report --by step`: the last line.
pub const STEPS: &[FieldRow] = &[
    ("name", "string", "name of the ranges that are steps; numbers in it are `*`"),
    ("domain", "string", "domain; `nvtx` is the default one"),
    ("steps", "integer", "number of steps"),
    ("took_ns", "object", "`median`, `p99`, `min` and `max` of the time of a step"),
    ("calls", "object", "the same of the calls inside that are in no other call"),
    ("gpu_ns?", "object", "the same of the time on the GPU"),
    ("unrecorded", "integer", "ranges like these in which recording was off, at least for a part: they do not count"),
    ("middle", "object|null", "the step whose time is the median, as a line `step`"),
    (
        "slowest",
        "array",
        "the slowest step, and the next one if that is the first of its thread: as a line `step`, with `differs`: \
         `function`, `ns` and `calls` more than in `middle`; null is the time outside of calls",
    ),
];

/// `report --by step`: a line for each.
pub const STEP: &[FieldRow] = &[
    ("name", "string", "name of the range"),
    ("pid", "integer", "process"),
    ("tid", "integer", "thread that began it"),
    ("start_ns", "integer", "beginning, CLOCK_MONOTONIC"),
    ("after_start_ns", "integer", "the same since the start of the run"),
    ("took_ns", "integer", "time"),
    ("calls", "integer|null", "calls inside that are in no other call; null if not all of them were recorded"),
    ("recorded?", "boolean", "false: recording was off in it, at least for a part; it does not count as a step"),
    ("gpu_ns?", "integer", "time on the GPU of work that these calls submitted (`--gpu-time`)"),
    ("gpu_idle", "number|null", "part of the time without work on the GPU, from 0 to 1; null without GPU time"),
];
