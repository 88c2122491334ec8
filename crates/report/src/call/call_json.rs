//! The shape of a call and of its columns in JSON: an object with a key for each column.

use crate::call::columns::{CallColumn, CallView, ColumnValue, Presence, Structured, call_columns};
use crate::call::hooked::hooked_json;
use crate::call::kernel::request_json;
use crate::call::submission::submission_json;
use crate::call::values_json::{ArgumentHeads, argument_heads, write_arguments, write_json};
use crate::format::json_text;
use crate::nesting::stacks::stack_json;
use cutap_trace::{Exit, Function};
use foldhash::HashMap;
use serde_json::Value;

/// Functions whose parts of lines are kept. Ranges of NVTX are functions too, and have any number of names.
const MOST_FUNCTIONS: usize = 1 << 12;

/// Writes calls as JSON objects. What is the same in all lines of a function is made once.
#[derive(Debug, Default)]
pub struct CallLines {
    /// By the function's key.
    functions: HashMap<u32, FunctionLine>,
}

/// The line of a function's calls.
#[derive(Debug)]
struct FunctionLine {
    parts: Vec<LinePart>,
    heads: ArgumentHeads,
}

/// A part of a line.
#[derive(Debug)]
enum LinePart {
    /// What follows from the function.
    Text(Vec<u8>),
    /// With what stands before the value: `,"name":`.
    Column(&'static CallColumn, Vec<u8>),
}

impl FunctionLine {
    fn of(view: CallView<'_>) -> FunctionLine {
        let function: &Function = &view.call.function;
        let mut parts = Vec::new();
        let mut text = br#"{"type":"call""#.to_vec();
        for column in call_columns() {
            if !column.may_be_of(function) {
                continue;
            }
            let mut key = vec![b','];
            json_text::text(column.name, &mut key);
            key.push(b':');
            if column.follows_from_function() {
                write_column((column, &key), view, &ArgumentHeads::default(), &mut text);
                continue;
            }
            if !text.is_empty() {
                parts.push(LinePart::Text(std::mem::take(&mut text)));
            }
            parts.push(LinePart::Column(column, key));
        }
        text.push(b'}');
        parts.push(LinePart::Text(text));
        FunctionLine { parts, heads: argument_heads(function) }
    }
}

impl CallLines {
    /// Appends the line of a call.
    pub fn write(&mut self, view: CallView<'_>, to: &mut Vec<u8>) {
        if self.functions.len() >= MOST_FUNCTIONS {
            self.functions.clear();
        }
        let line = self.functions.entry(view.call.function.key).or_insert_with(|| FunctionLine::of(view));
        for part in &line.parts {
            match part {
                LinePart::Text(text) => to.extend_from_slice(text),
                LinePart::Column(column, key) => write_column((column, key), view, &line.heads, to),
            }
        }
    }
}

/// Appends a column with its key.
fn write_column((column, key): (&CallColumn, &[u8]), view: CallView<'_>, heads: &ArgumentHeads, to: &mut Vec<u8>) {
    let value = column.value(view);
    if matches!(value, ColumnValue::None) && column.presence == Presence::Optional {
        return;
    }
    let before = to.len();
    to.extend_from_slice(key);
    if write_cell(value, heads, to) {
        return;
    }
    match column.presence {
        Presence::Optional => to.truncate(before),
        _ => to.extend_from_slice(b"null"),
    }
}

/// Appends a value. False, and nothing, where there is none.
fn write_cell(value: ColumnValue<'_>, heads: &ArgumentHeads, to: &mut Vec<u8>) -> bool {
    match value {
        ColumnValue::None => return false,
        ColumnValue::Structured(structured) => return write_structured(structured, heads, to),
        ColumnValue::Boolean(boolean) => json_text::truth(boolean, to),
        ColumnValue::Integer(number) => json_text::whole(number, to),
        ColumnValue::Status(status) => json_text::whole(status, to),
        ColumnValue::Text(text) => json_text::text(&text, to),
        ColumnValue::Address(word) => json_text::address(word, to),
        ColumnValue::Words(words) => {
            to.push(b'[');
            for (n, word) in words.iter().enumerate() {
                if n > 0 {
                    to.push(b',');
                }
                json_text::address(*word, to);
            }
            to.push(b']');
        }
    }
    true
}

/// Writes a value with parts in the same way.
fn write_structured(value: Structured<'_>, heads: &ArgumentHeads, to: &mut Vec<u8>) -> bool {
    let built = match value {
        Structured::Arguments(call, exit) => {
            write_arguments(call, exit, heads, to);
            return true;
        }
        Structured::Returned(value) => {
            write_json(value, to);
            return true;
        }
        Structured::Request(exit) => request_json(exit),
        Structured::Submission(exit) => submission_json(exit),
        Structured::Hooks(exit) => hooked_json(exit).map(Value::from),
        Structured::Logs(exit) => logs(exit),
        Structured::Stack(call) => stack_json(call).map(Value::from),
    };
    // Writing to memory does not fail.
    built.map(|value| serde_json::to_writer(to, &value)).is_some()
}

/// The value of a column as plain text; empty where it is null or absent.
pub(crate) fn column_text(column: &CallColumn, of: CallView<'_>) -> String {
    match column.value(of) {
        ColumnValue::Text(text) => text.into_owned(),
        ColumnValue::Address(word) => crate::format::units::Hex::of(word).text().to_owned(),
        value => {
            let mut text = Vec::new();
            write_cell(value, &argument_heads(&of.call.function), &mut text);
            String::from_utf8(text).unwrap_or_default()
        }
    }
}

/// What the call has added to logs, by the names of the logs.
fn logs(exit: &Exit) -> Option<Value> {
    let all = exit.logs.iter().map(|log| (log.name.to_owned(), Value::from(log.text.text.as_str())));
    Some(all.collect::<serde_json::Map<_, _>>()).filter(|logs| !logs.is_empty()).map(Value::Object)
}
