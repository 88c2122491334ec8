//! The fields of each JSON line, and from them a JSON Schema and the page of lines. A test compares the fields of a
//! call with those that are written.

use crate::call::columns::{CallColumn, ColumnType, Presence, RANK, RUN, call_columns};
use crate::outputs::collective_fields;
use crate::outputs::field_row::{FieldRow, PATH, RUNS};
use crate::outputs::gpu_fields;
use crate::outputs::pool_fields;
use crate::outputs::problem_fields;
use crate::outputs::range_fields;
use crate::statistics::call_stats::{CallStats, View};
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// The lines of one type.
struct Line {
    name: &'static str,
    about: &'static str,
    fields: Fields,
}

/// Where the fields of a line are declared.
enum Fields {
    /// Here.
    Rows(&'static [FieldRow]),
    /// They are the columns of a call.
    Columns,
    /// These, and the sums of calls in this report.
    Sums(&'static [FieldRow], View),
}

/// A field of a line.
struct LineField {
    name: &'static str,
    is_required: bool,
    /// As in a [`FieldRow`].
    types: &'static str,
    meaning: &'static str,
}

impl Line {
    fn fields(&self) -> Vec<LineField> {
        match self.fields {
            Fields::Rows(rows) => rows.iter().map(LineField::of_row).collect(),
            Fields::Columns => call_columns().iter().map(LineField::of_column).collect(),
            Fields::Sums(rows, view) => {
                let sums = CallStats::columns().iter().filter(|column| column.json.contains(&view));
                let of_sums = sums.filter_map(|column| SUMMARY.iter().chain([&GPU]).find(|row| row.0 == column.name));
                rows.iter().chain(of_sums).map(LineField::of_row).collect()
            }
        }
    }
}

impl LineField {
    fn of_row((name, types, meaning): &FieldRow) -> LineField {
        LineField { name: name.trim_end_matches('?'), is_required: !name.ends_with('?'), types, meaning }
    }

    fn of_column(column: &CallColumn) -> LineField {
        let is_required = column.presence != Presence::Optional;
        LineField { name: column.name, is_required, types: types(column), meaning: column.meaning }
    }
}

/// The types of a column's values in JSON.
fn types(column: &CallColumn) -> &'static str {
    let is_nullable = column.presence == Presence::Nullable;
    match (column.column_type, is_nullable) {
        (ColumnType::Boolean, false) => "boolean",
        (ColumnType::Boolean, true) => "boolean|null",
        (ColumnType::Integer, false) => "integer",
        (ColumnType::Integer, true) => "integer|null",
        (ColumnType::Text | ColumnType::Address, false) => "string",
        (ColumnType::Text | ColumnType::Address, true) => "string|null",
        (ColumnType::Words | ColumnType::List, false) => "array",
        (ColumnType::Words | ColumnType::List, true) => "array|null",
        (ColumnType::Record, false) => "object",
        (ColumnType::Record, true) => "object|null",
        (ColumnType::Result, false) => "integer|string",
        (ColumnType::Result, true) => "integer|string|null",
        (ColumnType::Any, _) => "any",
    }
}

const PROCESS: &[FieldRow] = &[
    ("run?", "string", RUN),
    ("rank?", "integer", RANK),
    ("pid", "integer", "process"),
    ("ppid", "integer", "its parent"),
    ("exe", "string", "path of the program"),
    ("arguments", "array", "command line"),
    ("forked", "boolean", "a child that never called exec"),
    ("folder", "string", "its directory in the run directory"),
    ("parent", "string|null", "the directory of the process that forked it"),
    ("start_ns", "integer", "beginning, CLOCK_MONOTONIC"),
    ("start_realtime_ns", "integer", "beginning, since 1970"),
];

const INSTANCE: &[FieldRow] = &[
    ("run?", "string", RUN),
    ("rank?", "integer", RANK),
    ("pid", "integer", "process"),
    ("id", "integer", "number in the process"),
    ("library", "string", "the file that contains it"),
    ("runtime", "string|null", "version"),
    ("shared", "boolean", "false: statically linked"),
    ("ns", "integer", "when it was first seen"),
];

const LOOKUP: &[FieldRow] = &[
    ("run?", "string", RUN),
    ("rank?", "integer", RANK),
    ("pid", "integer", "process"),
    ("tid", "integer", "thread"),
    ("ns", "integer", "when"),
    ("kind", "string", "`dlsym`, `dlvsym`, `cuGetProcAddress`, ..."),
    ("name", "string", "requested name"),
    ("handle_or_version", "string", "handle of the library, or CUDA version"),
    ("flags", "string", "hexadecimal"),
    ("caller", "string|null", "object that asked"),
    ("caller_address", "string", "return address"),
    ("code", "integer|null", "result"),
    ("symbol_status", "integer|null", "status of the symbol"),
    ("function", "string|null", "the function that was handed out"),
    ("library", "string|null", "its library"),
    ("address", "string|null", "an address without a known function"),
];

const MODULE: &[FieldRow] = &[
    ("run?", "string", RUN),
    ("rank?", "integer", RANK),
    ("pid", "integer", "process"),
    ("ns", "integer", "when"),
    ("bytes", "integer", "size"),
    ("kind", "string|integer", "`cubin`, `fatbin` or `ptx`"),
    ("file", "string", "name in the folder of `--dump-modules`"),
];

const COUNT: &[FieldRow] = &[
    ("layer", "string", "layer"),
    ("library", "string", "library"),
    ("runtime", "string|null", "version of the runtime"),
    ("name", "string", "function"),
    ("calls", "integer", "number of calls"),
];

const SUMMARY: &[FieldRow] = &[
    ("layer", "string", "layer"),
    ("library", "string", "library"),
    ("runtime", "string|null", "version of the runtime"),
    ("name", "string", "function"),
    ("calls", "integer", "number of calls"),
    ("errors", "integer", "calls that failed"),
    ("unfinished", "integer", "calls that did not return"),
    ("total_ns", "integer|null", "time with the calls inside"),
    ("self_ns", "integer|null", "time without them"),
    ("share", "number|null", "part of all self times"),
    ("mean_ns", "integer|number|null", "mean of the total"),
    ("min_ns", "integer|null", "shortest"),
    ("p50_ns", "integer|null", "median"),
    ("p95_ns", "integer|null", "95th percentile"),
    ("p99_ns", "integer|null", "99th percentile"),
    ("max_ns", "integer|null", "longest"),
];

/// A column that only rows of `report` have.
const GPU: FieldRow = ("gpu_ns", "integer", "with `--gpu-time`: what the GPU did for the calls and those inside, once");

const END: &[FieldRow] = &[
    ("run?", "string", RUN),
    ("rank?", "integer", RANK),
    (
        "filter",
        "object|null",
        "`text`, `shown`, `filtered_out`; `of_run`: the run was made with it, and no other was given",
    ),
    ("failed", "integer", "processes that could not write to the run directory"),
    ("counts", "array", "missed calls: `reason`, `text`, `count`"),
    ("gaps", "array", "what was missed by name: `reason`, `text`, `pid`, `what`, `more`"),
    ("instances", "array", "copies of the runtime, as in `instance`"),
    ("without_register_calls", "array", "objects whose static runtime reports no `__cudaRegister*`"),
    ("running", "array", "processes that still run"),
    ("unfinished", "integer", "calls that had not returned"),
    (
        "recording",
        "object|null",
        "`state` (`ended`, `open`, `cut off`, `damaged`, `incomplete`), `read_bytes`, `damaged_blocks`",
    ),
    ("raw", "array", "functions with untyped pointers: `library`, `name`, `calls`, `params`"),
    ("undescribed", "array", "unknown functions: `library`, `name`, `calls`"),
    ("nameless", "integer", "functions whose name was not found"),
    ("chunks_taken", "integer", "parts that a collector has read"),
    ("chunks_unknown", "integer", "parts that are missing for an unknown reason"),
    ("chunks_lost", "integer", "parts that are lost"),
    ("entered", "integer|null", "programs that cutap was in"),
    ("cleaned", "integer", "programs that were started without cutap in their environment"),
    (
        "program",
        "object|null",
        "how the program ended: `exit_code` or `signal`; null: it runs, or cutap ended before it",
    ),
    ("host", "object|null", "where it was recorded: `name`, `boot_id`, `rank`, `launcher` (its variables)"),
    ("inner", "integer", "cutaps that were started inside this one"),
    ("without_calls", "array", "processes with the driver and no call"),
    ("overwritten", "integer", "calls older than what a flight recorder kept"),
    ("records_cut", "integer", "records that were not finished"),
    ("records_unknown", "integer", "records of kinds that a newer cutap writes"),
    ("switched", "array", "`cutap ctl`: `ns`, `to` (`off`, `on`, `filter`), `pid` (null: all)"),
    ("counted", "integer", "calls that were only counted"),
    (
        "slow_clocks",
        "array",
        "times in which a GPU was slow: `device`, `nvml_device`, `from_ns`, `until_ns`, `min_sm_mhz`, `max_sm_mhz`, \
         `reasons`",
    ),
];

const STACK: &str = "frames as text, the innermost first; needs `record --stack`";

const ERROR: &[FieldRow] = &[
    ("path", "array", "the calls around it, the outermost first, and the failed call"),
    ("status", "string", "the status by name"),
    ("calls", "integer", "calls that failed so"),
    ("causes", "array", "failed calls inside these: `path`, `status`, `calls`"),
    ("handled", "boolean", "true: no problem, since the call around it succeeded, or CUDA had ended"),
    ("stack?", "array", STACK),
    ("runs?", "array", RUNS),
];

const LEAK: &[FieldRow] = &[
    ("kind", "string", "`device memory`, `stream`, `event`, `context`, ..."),
    ("count", "integer", "how many"),
    ("bytes", "integer", "of memory: their size; 0 if it is not known"),
    ("path", "array", "the calls around it, the outermost first, and the call that made them"),
    ("first", "array", "handles or addresses of the first four"),
    ("stack?", "array", STACK),
    ("runs?", "array", RUNS),
];

const REPORT: &[FieldRow] = &[
    ("by", "string", "what a row stands for, as `--by` takes it"),
    ("name", "string|null", "the row's name"),
    ("layer?", "string", "of functions: layer"),
    ("library?", "string", "of functions: library"),
    ("runtime?", "string|null", "of functions: version of the runtime"),
    ("pid?", "integer", "of threads: process"),
    ("tid?", "integer", "of threads: thread"),
    ("thread?", "string|null", "of threads: name"),
    ("folder?", "string", "of threads: the process's directory in the run directory"),
    ("run?", "string", RUN),
    ("rank?", "integer", RANK),
    ("runs?", "array", "if several runs are read: `run`, `rank` and the sums of each"),
];

const TREE: &[FieldRow] = &[
    ("depth", "integer", "calls around it"),
    ("path", "array", "from the outermost call to this one; with `--callers` from the function to its callers"),
];

const SYNC: &[FieldRow] =
    &[("path", "array", PATH), ("why", "string", "why the call waits"), ("stack?", "array", STACK)];

const FOLDED: &[FieldRow] = &[
    ("path", "array", "from the outermost function of the program to the call"),
    ("calls", "integer", "number of calls"),
    ("total_ns", "integer", "time with the calls inside"),
];

const ALLOCATIONS: &[FieldRow] = &[
    ("kind", "string", "`device memory`, `host memory`, ..."),
    ("count", "integer", "allocations"),
    ("bytes", "integer", "of all of them"),
    ("largest_bytes", "integer", "the largest one"),
    ("peak_bytes", "integer", "held at the peak of its process"),
    ("peak_share", "number", "part of that peak, from 0 to 1"),
    ("end_bytes", "integer", "held at the end"),
    ("path", "array", "the calls around it, the outermost first, and the call that allocates"),
    ("stack?", "array", STACK),
    ("runs?", "array", RUNS),
];

const ALLOCATED: &[FieldRow] = &[
    ("kind", "string", "`device memory`, `host memory`, ..."),
    ("pid", "integer", "process"),
    ("folder", "string", "its directory in the run directory"),
    ("peak_bytes", "integer", "most that it held"),
    ("peak_ns", "integer", "when, CLOCK_MONOTONIC"),
    ("end_bytes", "integer", "held at the end"),
    ("run?", "string", RUN),
    ("rank?", "integer", RANK),
];

const LINES: [Line; 38] = [
    Line { name: "call", about: "A call.", fields: Fields::Columns },
    Line { name: "process", about: "A process.", fields: Fields::Rows(PROCESS) },
    Line { name: "instance", about: "A copy of the CUDA runtime in a process.", fields: Fields::Rows(INSTANCE) },
    Line { name: "lookup", about: "A question for an address (`-e lookup`).", fields: Fields::Rows(LOOKUP) },
    Line { name: "module", about: "A code image that was dumped (`--dump-modules`).", fields: Fields::Rows(MODULE) },
    Line {
        name: "row",
        about: "What the GPU did (`--gpu-time`): a kernel, a copy or a set. `gpu_ns` of a call adds them up.",
        fields: Fields::Rows(gpu_fields::ROW),
    },
    Line {
        name: "gpu_clock",
        about: "The clock of a GPU at a moment (`--gpu-time`), once a second. The lines come before the last one.",
        fields: Fields::Rows(gpu_fields::CLOCK),
    },
    Line { name: "summary", about: "A row of `-c`.", fields: Fields::Rows(SUMMARY) },
    Line { name: "count", about: "A row of `-C`.", fields: Fields::Rows(COUNT) },
    Line { name: "end", about: "The last line.", fields: Fields::Rows(END) },
    Line {
        name: "report",
        about: "A row of `report`, with `--by` or without.",
        fields: Fields::Sums(REPORT, View::Table),
    },
    Line { name: "tree", about: "A call at its place (`report --tree`).", fields: Fields::Sums(TREE, View::Tree) },
    Line { name: "callers", about: "A caller (`report --callers`).", fields: Fields::Sums(TREE, View::Tree) },
    Line {
        name: "sync",
        about: "A call that waits (`report --blocking`).",
        fields: Fields::Sums(SYNC, View::Blocking),
    },
    Line { name: "stack", about: "A stack of the program (`report --folded`).", fields: Fields::Rows(FOLDED) },
    Line {
        name: "allocations",
        about: "Where memory is allocated (`report --allocations`).",
        fields: Fields::Rows(ALLOCATIONS),
    },
    Line {
        name: "allocated",
        about: "What a process allocated in all (`report --allocations`).",
        fields: Fields::Rows(ALLOCATED),
    },
    Line {
        name: "pool",
        about: "A pool of an allocator on a device (`report --allocations`).",
        fields: Fields::Rows(pool_fields::POOL),
    },
    Line {
        name: "pool_line",
        about: "A line that asks for blocks of pools (`report --allocations`).",
        fields: Fields::Rows(pool_fields::POOL_LINE),
    },
    Line {
        name: "pool_refused",
        about: "No block of a size could be had (`report --allocations`).",
        fields: Fields::Rows(pool_fields::POOL_REFUSED),
    },
    Line {
        name: "gpu_kernel",
        about: "A kernel on the GPU (`report --by kernel` of a run with GPU time).",
        fields: Fields::Rows(gpu_fields::KERNEL),
    },
    Line {
        name: "range",
        about: "Ranges of one name (`report --by range`).",
        fields: Fields::Rows(range_fields::RANGE),
    },
    Line { name: "steps", about: "The steps (`report --by step`).", fields: Fields::Rows(range_fields::STEPS) },
    Line { name: "step", about: "A step (`report --by step`).", fields: Fields::Rows(range_fields::STEP) },
    Line { name: "gpu_copy", about: "Copies of one kind (`report --copies`).", fields: Fields::Rows(gpu_fields::COPY) },
    Line {
        name: "gpu_graph",
        about: "An executable graph (`report --graphs`).",
        fields: Fields::Rows(gpu_fields::GRAPH),
    },
    Line { name: "gpu_device", about: "A device (`report --gaps`).", fields: Fields::Rows(gpu_fields::DEVICE) },
    Line { name: "gpu_gap", about: "Why a device was idle (`report --gaps`).", fields: Fields::Rows(gpu_fields::GAP) },
    Line {
        name: "communicator",
        about: "A communicator of NCCL (`report --collectives`).",
        fields: Fields::Rows(collective_fields::COMMUNICATOR),
    },
    Line {
        name: "collective",
        about: "Calls of a communicator that are alike (`report --collectives`).",
        fields: Fields::Rows(collective_fields::COLLECTIVE),
    },
    Line {
        name: "collective_finding",
        about: "What does not fit among ranks (`report --collectives`).",
        fields: Fields::Rows(collective_fields::FINDING),
    },
    Line { name: "error", about: "Failed calls (`report --errors`).", fields: Fields::Rows(ERROR) },
    Line { name: "leak", about: "What was left (`report --leaks`).", fields: Fields::Rows(LEAK) },
    Line { name: "finding", about: "A finding of `explain`.", fields: Fields::Rows(problem_fields::FINDING) },
    Line { name: "time", about: "What time was spent on (`explain`).", fields: Fields::Rows(problem_fields::TIME) },
    Line { name: "diff", about: "A function that differs (`diff`).", fields: Fields::Rows(problem_fields::DIFF) },
    Line {
        name: "program_ends",
        about: "The programs ended in different ways (`diff`).",
        fields: Fields::Rows(problem_fields::PROGRAM_ENDS),
    },
    Line { name: "check", about: "The answer to a rule (`check`).", fields: Fields::Rows(problem_fields::CHECK) },
];

/// The schema of all lines of `--json` that stand for calls, findings and differences.
pub fn json_schema() -> String {
    let lines: Vec<Value> = LINES.iter().map(of_line).collect();
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of cutap --json",
        "oneOf": lines,
    });
    serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n"
}

fn of_line(line: &Line) -> Value {
    let mut properties = Map::new();
    properties.insert("type".to_owned(), json!({"const": line.name}));
    let fields = line.fields();
    for field in &fields {
        let types: Vec<&str> = field.types.split('|').collect();
        let mut of = json!({"description": field.meaning});
        match types[..] {
            ["any"] => {}
            [one] => of["type"] = one.into(),
            _ => of["type"] = types.into(),
        }
        properties.insert(field.name.to_owned(), of);
    }
    let required = fields.iter().filter(|field| field.is_required).map(|field| field.name);
    let required: Vec<&str> = ["type"].into_iter().chain(required).collect();
    json!({"type": "object", "title": line.about, "properties": properties, "required": required})
}

const START: &str = "\
# JSON lines

<!-- Generated by `cargo xtask codegen` from `json_schema.rs` of `crates/report`. Do not edit. -->

This page is for a programmer who looks up a field of `--json`. [JSON](json.md) describes values.
Each line also has `type`. A field with `?` may be absent.
";

/// `docs/reference/json-lines.md`.
pub fn json_lines_page() -> String {
    let mut page = START.to_owned();
    for line in &LINES {
        let _ =
            write!(page, "\n## {}\n\n{}\n\n| field | type | meaning |\n| --- | --- | --- |\n", line.name, line.about);
        for field in line.fields() {
            let (mark, types) = (if field.is_required { "" } else { "?" }, field.types.replace('|', " or "));
            let _ = writeln!(page, "| `{}{mark}` | {types} | {} |", field.name, field.meaning);
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutap_trace::End;

    /// The fields of a line that is written, against those of the table.
    fn compare(name: &str, written: &Value) {
        let of = LINES.iter().find(|line| line.name == name).expect("a line of the table");
        let written: Vec<&str> = written.as_object().expect("an object").keys().map(String::as_str).collect();
        let fields = of.fields();
        let known: Vec<&str> = ["type"].into_iter().chain(fields.iter().map(|field| field.name)).collect();
        for field in &written {
            assert!(known.contains(field), "{name}: {field} is not in the table");
        }
        for field in fields.iter().filter(|field| field.is_required) {
            assert!(written.contains(&field.name), "{name}: {} is not written", field.name);
        }
    }

    #[test]
    fn fields_of_the_end() {
        let mut out = Vec::new();
        crate::end_line(&End::default(), &mut out).expect("a line");
        compare("end", &serde_json::from_slice(&out).expect("JSON"));
    }

    #[test]
    fn schema_is_json() {
        let schema: Value = serde_json::from_str(&json_schema()).expect("JSON");
        assert_eq!(schema["oneOf"].as_array().map(Vec::len), Some(LINES.len()));
    }
}
