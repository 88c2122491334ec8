//! The shape of a call and of its columns in JSON: an object with a key for each column.

use crate::call::columns::{CallColumn, CallView, ColumnValue, Presence, Structured, call_columns};
use crate::call::hooked::hooked_json;
use crate::call::kernel::request_json;
use crate::call::submission::submission_json;
use crate::call::values_json::{Arguments, Json};
use crate::format::units::Hex;
use crate::nesting::stacks::stack_json;
use cutap_trace::Exit;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::Value;

impl Serialize for CallView<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("type", "call")?;
        for column in call_columns() {
            match column_json(column, *self) {
                Some(value) => map.serialize_entry(column.name, &value)?,
                None if column.presence == Presence::Optional => {}
                None => map.serialize_entry(column.name, &())?,
            }
        }
        map.end()
    }
}

/// A value in JSON.
enum ColumnJson<'a> {
    Plain(ColumnValue<'a>),
    Arguments(Arguments<'a>),
    Value(Json<'a>),
    Built(Value),
}

/// The value of a column; none where the call has none.
fn column_json<'a>(column: &CallColumn, of: CallView<'a>) -> Option<ColumnJson<'a>> {
    let built = |value: Option<Value>| value.map(ColumnJson::Built);
    match column.value(of) {
        ColumnValue::None => None,
        ColumnValue::Structured(structured) => match structured {
            Structured::Arguments(call, exit) => Some(ColumnJson::Arguments(Arguments(call, exit))),
            Structured::Returned(value) => Some(ColumnJson::Value(Json::new(value))),
            Structured::Request(exit) => built(request_json(exit)),
            Structured::Submission(exit) => built(submission_json(exit)),
            Structured::Hooks(exit) => built(hooked_json(exit).map(Value::from)),
            Structured::Logs(exit) => built(logs(exit)),
            Structured::Stack(call) => built(stack_json(call).map(Value::from)),
        },
        plain => Some(ColumnJson::Plain(plain)),
    }
}

impl Serialize for ColumnJson<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            ColumnJson::Plain(plain) => match plain {
                ColumnValue::None | ColumnValue::Structured(_) => to.serialize_none(),
                ColumnValue::Boolean(boolean) => to.serialize_bool(*boolean),
                ColumnValue::Integer(number) => to.serialize_u64(*number),
                ColumnValue::Status(status) => to.serialize_i32(*status),
                ColumnValue::Text(text) => to.serialize_str(text),
                ColumnValue::Address(word) => to.serialize_str(Hex::of(*word).text()),
                ColumnValue::Words(words) => {
                    to.collect_seq(words.iter().map(|word| ColumnJson::Plain(ColumnValue::Address(*word))))
                }
            },
            ColumnJson::Arguments(arguments) => arguments.serialize(to),
            ColumnJson::Value(value) => value.serialize(to),
            ColumnJson::Built(value) => value.serialize(to),
        }
    }
}

/// The value of a column as plain text; empty where it is null or absent.
pub(crate) fn column_text(column: &CallColumn, of: CallView<'_>) -> String {
    match column_json(column, of) {
        None => String::new(),
        Some(ColumnJson::Plain(ColumnValue::Text(text))) => text.into_owned(),
        Some(value) => match serde_json::to_value(&value) {
            Ok(Value::String(text)) => text,
            Ok(value) => value.to_string(),
            Err(_) => String::new(),
        },
    }
}

/// What the call has added to logs, by the names of the logs.
fn logs(exit: &Exit) -> Option<Value> {
    let all = exit.logs.iter().map(|log| (log.name.to_owned(), Value::from(log.text.text.as_str())));
    Some(all.collect::<serde_json::Map<_, _>>()).filter(|logs| !logs.is_empty()).map(Value::Object)
}
