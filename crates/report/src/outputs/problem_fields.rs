//! Fields of the JSON lines on findings, rules and differences.

use crate::outputs::field_row::{FieldRow, PATH, RUNS};

pub const CHECK: &[FieldRow] = &[
    ("rule", "string", "name of the rule"),
    ("holds", "boolean|null", "whether it holds; null: the recording cannot say"),
    ("found", "integer|null", "how much breaks it; null: not known"),
    ("sentence", "string", "what was found, or why it is not known"),
    ("lines", "array", "the calls that break it, as lines of a report"),
];

pub const PROGRAM_ENDS: &[FieldRow] =
    &[("a", "object", "how the program of A ended: `exit_code` or `signal`"), ("b", "object", "the same of B")];

pub const FINDING: &[FieldRow] = &[
    ("rule", "string", "name of the rule, as `--rule` takes it"),
    ("title", "string", "what is wrong"),
    ("cost_ns", "integer", "time that it costs; 0 if it costs none"),
    ("evidence", "array", "sentences with numbers"),
    ("path", "array", PATH),
    ("stack", "array", "frames as text, the innermost first; empty without `record --stack`"),
    ("advice", "string", "what to do"),
    ("other_places", "integer", "other places whose findings read the same; `cost_ns` includes them"),
    ("runs?", "array", RUNS),
];

pub const TIME: &[FieldRow] = &[
    (
        "activity",
        "string",
        "`waits`, `modules`, `start_up`, `copies`, `launches`, `allocation`, `other`, or `outside` of calls",
    ),
    ("ns", "integer", "nanoseconds of all threads"),
    ("share", "number", "part of the time of all threads, from 0 to 1"),
    ("function", "string|null", "the function with most of it"),
];

pub const DIFF: &[FieldRow] = &[
    ("layer", "string", "layer"),
    ("library", "string", "library of A, or of B if A has no call of it"),
    ("name", "string", "function"),
    (
        "caller",
        "string|null",
        "with `--by caller`: the function that makes the calls, `, from ` and its caller; null without a stack",
    ),
    (
        "a",
        "object|null",
        "null: no call in A. Else `library`, `runtime`, `calls`, `errors`, `statuses` (an object: failed calls by \
         status), `unfinished`, `total_ns`, `start_up_ns` (part of it: starting CUDA, loading modules), `bytes`, \
         `only` (argument lists that A has more often: `arguments`, `calls`), `only_left_out` (calls beyond 4096 \
         different lists)",
    ),
    ("b", "object|null", "the same of B"),
];
