//! The fields of each JSON line, and from them a JSON Schema and the page of lines. A test compares the fields of a
//! call with those that are written.

use serde_json::{Map, Value, json};
use std::fmt::Write;

/// A field: its name, its type, and its meaning. The types are those of JSON Schema with `|` between them; a name
/// that ends in `?` may be absent.
type FieldRow = (&'static str, &'static str, &'static str);

/// The lines of one type.
struct Line {
    name: &'static str,
    about: &'static str,
    fields: &'static [FieldRow],
}

/// Meanings of fields that many lines have.
const RUN: &str = "if several runs are read: which";
const RANK: &str = "its rank, if each of them has one";

const CALL: &[FieldRow] = &[
    ("id", "integer", "tells it from all other calls of this output"),
    ("parent", "integer|null", "`id` of the call that it was made from, if that is among the lines"),
    ("run?", "string", RUN),
    ("rank?", "integer", RANK),
    ("pid", "integer", "process"),
    ("tid", "integer", "thread"),
    ("depth", "integer", "printed calls around it, as far as they were known at its beginning"),
    ("layer", "string", "`library`, `runtime`, `driver`, `hidden`, `syscall` or `submit`"),
    ("library", "string", "SONAME or file name of the object with the function, or with the runtime"),
    ("runtime", "string|null", "version of the runtime"),
    ("name", "string", "the exported name"),
    ("demangled?", "string", "of C++ functions, and of hidden functions with a name"),
    ("args", "array", "argument words, hexadecimal"),
    ("arguments?", "array", "typed arguments, if the function is known"),
    ("result", "integer|string|null", "the status or number; hexadecimal text for an address"),
    ("result_name?", "string", "the status by name"),
    ("returned?", "any", "a result that is no status, as a value"),
    ("error", "boolean", "whether the call failed"),
    ("start_ns", "integer", "beginning, CLOCK_MONOTONIC"),
    ("duration_ns", "integer|null", "null if it did not return"),
    ("open_ns?", "integer", "of an unfinished call: from its beginning to the end of the run"),
    ("request?", "object", "of ioctls of the layer `syscall`: `name`, `control` or `class`, `fields`, `statuses`, ..."),
    (
        "submission?",
        "object",
        "of the layer `submit`: `channel`, `entries`, `methods`, `steps`, `flags`, `not_read`, ...",
    ),
    ("kernel", "string|null", "name of the launched kernel"),
    ("stream?", "string", "name of the stream among the arguments"),
    ("caller", "string", "return address; of a static runtime an address inside it"),
    ("caller_library?", "string", "of hidden functions: the library that made the call"),
    ("state", "string", "`done`, `unfinished`, `unwound` or `entry_only`"),
    ("returned_late?", "boolean", "true: it was written as unwound or unfinished before"),
    ("hooks?", "array", "what hooks did: `hook`, `action`, `argument`, `value`, `text`, `original_result`"),
    ("logs?", "object", "what the call added to `info_log` and `error_log` of a linker"),
    ("stack?", "array", "frames: `address`, `object`, `offset`, `function`, `into`, `inlined`, `file`, `line`"),
    ("stack_end?", "string", "`whole`, `truncated` or `unknown`"),
];

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
    ("inner", "integer", "cutaps that were started inside this one"),
    ("without_calls", "array", "processes with the driver and no call"),
    ("overwritten", "integer", "calls older than what a flight recorder kept"),
    ("records_cut", "integer", "records that were not finished"),
    ("records_unknown", "integer", "records of kinds that a newer cutap writes"),
    ("switched", "array", "`cutap ctl`: `ns`, `to` (`off`, `on`, `filter`), `pid` (null: all)"),
    ("counted", "integer", "calls that were only counted"),
];

const RUNS: &str = "if several runs are read: `run`, `rank` and the number of each that has it";
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

const FINDING: &[FieldRow] = &[
    ("rule", "string", "name of the rule, as `--rule` takes it"),
    ("title", "string", "what is wrong"),
    ("cost_ns", "integer", "time that it costs; 0 if it costs none"),
    ("evidence", "array", "sentences with numbers"),
    ("path", "array", "the calls around it, the outermost first, and the call"),
    ("stack", "array", "frames as text, the innermost first; empty without `record --stack`"),
    ("advice", "string", "what to do"),
    ("other_places", "integer", "other places whose findings read the same; `cost_ns` includes them"),
    ("runs?", "array", RUNS),
];

const TIME: &[FieldRow] = &[
    (
        "activity",
        "string",
        "`waits`, `modules`, `start_up`, `copies`, `launches`, `allocation`, `other`, or `outside` of calls",
    ),
    ("ns", "integer", "nanoseconds of all threads"),
    ("share", "number", "part of the time of all threads, from 0 to 1"),
    ("function", "string|null", "the function with most of it"),
];

const DIFF: &[FieldRow] = &[
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

const LINES: [Line; 13] = [
    Line { name: "call", about: "A call.", fields: CALL },
    Line { name: "process", about: "A process.", fields: PROCESS },
    Line { name: "instance", about: "A copy of the CUDA runtime in a process.", fields: INSTANCE },
    Line { name: "lookup", about: "A question for an address (`-e lookup`).", fields: LOOKUP },
    Line { name: "module", about: "A code image that was dumped (`--dump-modules`).", fields: MODULE },
    Line { name: "summary", about: "A row of `-c`.", fields: SUMMARY },
    Line { name: "count", about: "A row of `-C`.", fields: COUNT },
    Line { name: "end", about: "The last line.", fields: END },
    Line { name: "error", about: "Failed calls (`report --errors`).", fields: ERROR },
    Line { name: "leak", about: "What was left (`report --leaks`).", fields: LEAK },
    Line { name: "finding", about: "A finding of `explain`.", fields: FINDING },
    Line { name: "time", about: "What time was spent on (`explain`).", fields: TIME },
    Line { name: "diff", about: "A function that differs (`diff`).", fields: DIFF },
];

fn name_of(row: &FieldRow) -> &'static str {
    row.0.trim_end_matches('?')
}

fn is_required(row: &FieldRow) -> bool {
    !row.0.ends_with('?')
}

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
    for row in line.fields {
        let types: Vec<&str> = row.1.split('|').collect();
        let mut of = json!({"description": row.2});
        match types[..] {
            ["any"] => {}
            [one] => of["type"] = one.into(),
            _ => of["type"] = types.into(),
        }
        properties.insert(name_of(row).to_owned(), of);
    }
    let required: Vec<&str> = line.fields.iter().filter(|row| is_required(row)).map(name_of).collect();
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
        for row in line.fields {
            let _ = writeln!(page, "| `{}` | {} | {} |", row.0, row.1.replace('|', " or "), row.2);
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::fields::fields;
    use cutap_trace::End;

    /// The fields of a line that is written, against those of the table.
    fn compare(name: &str, written: &Value) {
        let of = LINES.iter().find(|line| line.name == name).expect("a line of the table");
        let written: Vec<&str> = written.as_object().expect("an object").keys().map(String::as_str).collect();
        let known: Vec<&str> = ["type"].into_iter().chain(of.fields.iter().map(name_of)).collect();
        for field in &written {
            assert!(known.contains(field), "{name}: {field} is not in the table");
        }
        for row in of.fields.iter().filter(|row| is_required(row)) {
            assert!(written.contains(&name_of(row)), "{name}: {} is not written", row.0);
        }
    }

    /// The table has each field of a call, in the order of a line.
    #[test]
    fn fields_of_a_call() {
        let written: Vec<&str> = fields().iter().map(|field| field.name).collect();
        let known: Vec<&str> = ["type"].into_iter().chain(CALL.iter().map(name_of)).collect();
        assert_eq!(written, known);
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
