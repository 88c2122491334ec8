//! The fields of a call: one list for JSON lines, the text of a trace and the annotations of exports. A new field is
//! one entry of `FIELDS`.

use crate::call::hooked::{hooked_json, hooked_lines, write_hooked};
use crate::call::kernel::{request_json, request_line};
use crate::call::stream_argument::stream;
use crate::call::submission::{self, submission_json};
use crate::call::values::write_logs;
use crate::call::values_json::{Arguments, Json};
use crate::format::style::{Styles, push_styled};
use crate::format::units::Hex;
use crate::nesting::nest::id;
use crate::nesting::stacks;
use cutap_trace::{Call, Exit, Returned};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;
use std::sync::{Arc, LazyLock};

/// A call as an output sees it. Without `exit`, only its beginning is known.
#[derive(Clone, Copy)]
pub(crate) struct CallView<'a> {
    pub call: &'a Call,
    pub exit: Option<&'a Exit>,
    /// The id of the call that it was made from, where the output follows the calls.
    pub parent: Option<u64>,
}

/// A field of a call.
#[derive(Debug)]
pub(crate) struct Field {
    /// Key in JSON; in exports with `cutap.` before it.
    pub name: &'static str,
    /// The value in JSON.
    json: for<'a> fn(CallView<'a>) -> FieldValue<'a>,
    /// Where it is in a line of text, and how it is written there.
    text: Option<(Part, WriteText)>,
    /// Its text in exports, which is empty where there is none.
    annotation: Option<fn(CallView<'_>, &mut String)>,
}

/// Writes the text of a field, or nothing.
type WriteText = fn(CallView<'_>, &Styles, &mut String);

/// A place in a line of text: `name(arguments)HEAD = resultRESULT <time>TAIL`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// After the arguments.
    Head,
    /// Between the result and the time.
    Result,
    /// At the end.
    Tail,
}

/// A value in JSON.
pub(crate) enum FieldValue<'a> {
    /// The line has no such key.
    Absent,
    Null,
    Bool(bool),
    Number(u64),
    Text(&'a str),
    /// `"0x1f"`.
    Hex(u64),
    Words(&'a [u64]),
    Arguments(Arguments<'a>),
    Value(Json<'a>),
    Json(Value),
}

use FieldValue as F;

const FIELDS: &[Field] = &[
    Field::new("type", |_| F::Text("call")),
    Field::new("id", |c| F::Number(id(c.call))),
    Field::new("parent", |c| c.parent.map_or(F::Null, F::Number)),
    Field::new("run", |c| c.call.thread.process.run.as_ref().map_or(F::Absent, |run| F::Text(&run.file))),
    Field::new("rank", |c| {
        let rank = c.call.thread.process.run.as_ref().and_then(|run| run.rank);
        rank.map_or(F::Absent, |rank| F::Number(rank.into()))
    }),
    Field::new("pid", |c| F::Number(c.call.thread.process.pid.into())),
    Field::new("tid", |c| F::Number(c.call.thread.tid.into())),
    Field::new("depth", |c| F::Number(c.call.depth.into())),
    Field::new("layer", |c| F::Text(c.call.function.layer.name())),
    Field::new("library", |c| F::Text(&c.call.function.library)),
    Field::new("runtime", |c| c.call.runtime_version().map_or(F::Null, F::Text)),
    Field::new("name", |c| F::Text(&c.call.function.name)),
    Field::new("demangled", |c| c.call.function.demangled.as_deref().map_or(F::Absent, F::Text)),
    Field::new("args", |c| F::Words(c.call.args.words())),
    Field::new("arguments", |c| if c.is_described() { F::Arguments(Arguments(c.call, c.exit)) } else { F::Absent }),
    Field::new("result", |c| c.exit.and_then(Exit::returned).map_or(F::Null, result)),
    Field::new("result_name", |c| c.exit.and_then(Exit::status_name).map_or(F::Absent, F::Text)),
    // A result that is no status.
    Field::new("returned", |c| match c.exit.and_then(|exit| exit.value.as_deref()) {
        Some(value) => F::Value(Json::new(value)),
        None => F::Absent,
    }),
    Field::new("error", |c| F::Bool(c.exit.is_some_and(Exit::is_error))),
    Field::new("start_ns", |c| F::Number(c.call.start_ns)),
    Field::new("duration_ns", |c| c.exit.and_then(|exit| exit.duration_ns).map_or(F::Null, F::Number)),
    Field::new("open_ns", |c| {
        let open = c.exit.filter(|exit| exit.duration_ns.is_none()).and_then(Exit::took_ns);
        open.map_or(F::Absent, F::Number)
    }),
    Field::new("request", |c| c.exit.and_then(request_json).map_or(F::Absent, F::Json))
        .in_exports(|c, to| to.push_str(&c.exit.and_then(request_line).unwrap_or_default())),
    Field::new("submission", |c| c.exit.and_then(submission_json).map_or(F::Absent, F::Json))
        .in_exports(|c, to| to.push_str(&c.exit.and_then(submission::lines).unwrap_or_default().join("\n"))),
    Field::new("kernel", |c| c.kernel().map_or(F::Null, |kernel| F::Text(kernel)))
        .in_text(Part::Head, |c, styles, to| {
            if let Some(kernel) = c.kernel() {
                to.push_str(" kernel=");
                push_styled(styles.kernel, kernel, to);
            }
        })
        .in_exports(|c, to| to.push_str(c.kernel().map_or("", |kernel| kernel))),
    Field::new("stream", |c| stream(c.call).map_or(F::Absent, |name| F::Json(name.into())))
        .in_exports(|c, to| to.push_str(&stream(c.call).unwrap_or_default())),
    Field::new("caller", |c| F::Hex(c.call.caller)),
    Field::new("caller_library", |c| c.call.caller_library.as_deref().map_or(F::Absent, F::Text))
        .in_exports(|c, to| to.push_str(c.call.caller_library.as_deref().unwrap_or_default())),
    Field::new("state", |c| F::Text(c.exit.map_or("entry_only", |exit| exit.state.word()))).in_exports(|c, to| {
        to.push_str(c.exit.filter(|exit| exit.duration_ns.is_none()).map_or("", |exit| exit.state.word()));
    }),
    Field::new("returned_late", |c| if c.exit.is_some_and(|exit| exit.late) { F::Bool(true) } else { F::Absent }),
    Field::new("hooks", |c| c.exit.and_then(hooked_json).map_or(F::Absent, |hooks| F::Json(hooks.into())))
        .in_text(Part::Tail, |c, _, to| write_hooked(c.call, to))
        .in_exports(|c, to| to.push_str(&hooked_lines(c.call).unwrap_or_default())),
    // Exports have each log under its own name.
    Field::new("logs", |c| c.exit.and_then(logs).map_or(F::Absent, F::Json))
        .in_text(Part::Result, |c, _, to| c.exit.map_or((), |exit| write_logs(exit, to))),
    // Text has the frames in lines below.
    Field::new("stack", |c| c.exit.and_then(|_| stacks::stack_json(c.call)).map_or(F::Absent, |s| F::Json(s.into())))
        .in_exports(|c, to| to.push_str(&stacks::lines(c.call).join("\n"))),
    Field::new("stack_end", |c| c.exit.and_then(|_| stacks::end_word(c.call)).map_or(F::Absent, F::Text)),
];

/// The entries of `FIELDS` that lines of text have.
static IN_TEXT: LazyLock<Vec<(Part, WriteText)>> =
    LazyLock::new(|| FIELDS.iter().filter_map(|field| field.text).collect());

/// All fields of a call, in the order of a JSON line.
pub(crate) fn fields() -> &'static [Field] {
    FIELDS
}

impl Field {
    const fn new(name: &'static str, json: for<'a> fn(CallView<'a>) -> FieldValue<'a>) -> Field {
        Field { name, json, text: None, annotation: None }
    }
    const fn in_text(self, part: Part, write: WriteText) -> Field {
        Field { text: Some((part, write)), ..self }
    }
    const fn in_exports(self, write: fn(CallView<'_>, &mut String)) -> Field {
        Field { annotation: Some(write), ..self }
    }

    /// Whether exports have it.
    pub fn is_in_exports(&self) -> bool {
        self.annotation.is_some()
    }

    /// Writes its text for an export. False if this call has none.
    pub fn annotate(&self, of: CallView<'_>, to: &mut String) -> bool {
        to.clear();
        self.annotation.iter().for_each(|write| write(of, to));
        !to.is_empty()
    }
}

impl<'a> CallView<'a> {
    /// A call of which only the beginning is known.
    pub fn enter(call: &'a Call) -> CallView<'a> {
        CallView { call, exit: None, parent: None }
    }

    /// A call that has ended.
    pub fn exit(exit: &'a Exit) -> CallView<'a> {
        CallView { call: &exit.call, exit: Some(exit), parent: None }
    }

    /// One that was made from the call of this id.
    pub fn inside(self, parent: Option<u64>) -> CallView<'a> {
        CallView { parent, ..self }
    }

    /// The kernel that was launched.
    pub fn kernel(self) -> Option<&'a Arc<str>> {
        self.exit.map_or(self.call.kernel(), Exit::kernel)
    }

    /// Whether its arguments have types and values.
    pub fn is_described(self) -> bool {
        let CallView { call, .. } = self;
        call.function.described.is_some() && (!call.inputs().is_empty() || call.function.params().is_empty())
    }

    /// Writes the fields of one part of a line of text.
    pub fn write_part(self, part: Part, styles: &Styles, to: &mut String) {
        for (_, write) in IN_TEXT.iter().filter(|(of, _)| *of == part) {
            write(self, styles, to);
        }
    }
}

impl Serialize for CallView<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        for field in fields() {
            match (field.json)(*self) {
                FieldValue::Absent => {}
                value => map.serialize_entry(field.name, &value)?,
            }
        }
        map.end()
    }
}

impl Serialize for FieldValue<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            F::Absent | F::Null => to.serialize_none(),
            F::Bool(bool) => to.serialize_bool(*bool),
            F::Number(number) => to.serialize_u64(*number),
            F::Text(text) => to.serialize_str(text),
            F::Hex(word) => to.serialize_str(Hex::of(*word).text()),
            F::Words(words) => to.collect_seq(words.iter().map(|word| F::Hex(*word))),
            F::Arguments(arguments) => arguments.serialize(to),
            F::Value(value) => value.serialize(to),
            F::Json(value) => value.serialize(to),
        }
    }
}

/// The value of a field as plain text; empty where it is null or absent.
pub(crate) fn field_text(name: &str, of: CallView<'_>) -> String {
    let Some(field) = FIELDS.iter().find(|field| field.name == name) else { return String::new() };
    match (field.json)(of) {
        F::Absent | F::Null => String::new(),
        F::Text(text) => text.to_owned(),
        value => match serde_json::to_value(&value) {
            Ok(Value::String(text)) => text,
            Ok(value) => value.to_string(),
            Err(_) => String::new(),
        },
    }
}

fn result<'a>(returned: Returned) -> FieldValue<'a> {
    match returned {
        Returned::Status(status) => F::Json(status.into()),
        Returned::Number(number) => F::Number(number),
        Returned::Word(word) => F::Hex(word),
        Returned::Nothing | Returned::Unreported => F::Null,
    }
}

/// What the call has added to logs, by the names of the logs.
fn logs(exit: &Exit) -> Option<Value> {
    let all = exit.logs.iter().map(|log| (log.name.to_owned(), Value::from(log.text.text.as_str())));
    Some(all.collect::<serde_json::Map<_, _>>()).filter(|logs| !logs.is_empty()).map(Value::Object)
}
