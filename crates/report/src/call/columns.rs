//! The columns of a call: one list for JSON lines, CSV, the text of a trace, the annotations of exports and tables. A
//! column has a type, a unit and a meaning, and no shape of an output: `call_json` has that of JSON. A new column is
//! one entry of `COLUMNS`.

pub use crate::call::column_value::{ColumnType, ColumnUnit, ColumnValue, Presence, Structured};
use crate::call::hooked::{hooked_lines, write_hooked};
use crate::call::kernel::request_line;
use crate::call::range;
use crate::call::stream_argument::stream;
use crate::call::submission;
use crate::call::values::write_logs;
use crate::format::style::{Styles, push_styled};
use crate::format::units::time;
use crate::nesting::nest::id;
use crate::nesting::stacks;
use cutap_trace::{Call, Exit, Function, Layer, Returned};
use std::fmt::Write;
use std::sync::{Arc, LazyLock};

/// A call as an output sees it. Without `exit`, only its beginning is known.
#[derive(Debug, Clone, Copy)]
pub struct CallView<'a> {
    /// The call.
    pub call: &'a Call,
    /// Its end.
    pub exit: Option<&'a Exit>,
    /// The id of the call that it was made from, where the output follows the calls.
    pub parent: Option<u64>,
}

/// A column of a table of calls.
#[derive(Debug)]
pub struct CallColumn {
    /// Its name; in exports with `cutap.` before it.
    pub name: &'static str,
    /// The type of its values.
    pub column_type: ColumnType,
    /// Whether a call may have no value.
    pub presence: Presence,
    /// The unit of a number.
    pub unit: Option<ColumnUnit>,
    /// What it is, in a sentence for the reference.
    pub meaning: &'static str,
    value: for<'a> fn(CallView<'a>) -> ColumnValue<'a>,
    scope: Scope,
    /// Where it is in a line of text, and how it is written there.
    text: Option<(Part, WriteText)>,
    /// Its text in exports, which is empty where there is none.
    annotation: Option<fn(CallView<'_>, &mut String)>,
}

/// The calls that have a value of a column.
#[derive(Debug, Clone, Copy)]
enum Scope {
    /// Any.
    All,
    /// All calls of a function have the same.
    Function,
    /// Those of such functions.
    Of(fn(&Function) -> bool),
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

use ColumnType as T;
use ColumnValue as V;
use Presence::{Always, Nullable, Optional};

/// Meanings of columns that tables of other things have too.
pub(crate) const RUN: &str = "if several runs are read: which";
/// See `RUN`.
pub(crate) const RANK: &str = "its rank, if each of them has one";

const COLUMNS: &[CallColumn] = &[
    CallColumn::new("id", T::Integer, Always, "tells it from all other calls of this output", |c| {
        V::Integer(id(c.call))
    }),
    CallColumn::new(
        "parent",
        T::Integer,
        Nullable,
        "`id` of the call that it was made from, if that is among the lines",
        |c| c.parent.map_or(V::None, V::Integer),
    ),
    CallColumn::new("run", T::Text, Optional, RUN, |c| {
        c.call.thread.process.run.as_ref().map_or(V::None, |run| text(&run.file))
    }),
    CallColumn::new("rank", T::Integer, Optional, RANK, |c| {
        let rank = c.call.thread.process.run.as_ref().and_then(|run| run.rank);
        rank.map_or(V::None, |rank| V::Integer(rank.into()))
    }),
    CallColumn::new("pid", T::Integer, Always, "process", |c| V::Integer(c.call.thread.process.pid.into())),
    CallColumn::new("tid", T::Integer, Always, "thread", |c| V::Integer(c.call.thread.tid.into())),
    CallColumn::new(
        "depth",
        T::Integer,
        Always,
        "printed calls around it, as far as they were known at its beginning",
        |c| V::Integer(c.call.depth.into()),
    ),
    CallColumn::new(
        "layer",
        T::Text,
        Always,
        "`nvtx`, `library`, `runtime`, `driver`, `hidden`, `syscall` or `submit`",
        |c| text(c.call.function.layer.name()),
    )
    .of_function(),
    CallColumn::new(
        "library",
        T::Text,
        Always,
        "SONAME or file name of the object with the function, or with the runtime",
        |c| text(&c.call.function.library),
    )
    .of_function(),
    CallColumn::new("runtime", T::Text, Nullable, "version of the runtime", |c| {
        c.call.runtime_version().map_or(V::None, text)
    }),
    CallColumn::new("name", T::Text, Always, "the exported name", |c| text(&c.call.function.name)).of_function(),
    CallColumn::new("range", T::Text, Optional, "of the layer `nvtx`: `range`, `mark`, `start` or `end`", |c| {
        c.call.function.range.map_or(V::None, |moment| text(range::word(moment)))
    })
    .of_function(),
    CallColumn::new("range_id", T::Integer, Optional, "of `start` and `end`: the number of the range", |c| {
        range::id(c.call).map_or(V::None, V::Integer)
    })
    .only_of(is_range),
    CallColumn::new("payload", T::Text, Optional, "of the layer `nvtx`: what the program gave, as text", |c| {
        range::payload(c.call).map_or(V::None, |payload| V::Text(payload.into()))
    })
    .only_of(is_range)
    .in_exports(|c, to| to.push_str(&range::payload(c.call).unwrap_or_default())),
    CallColumn::new("payload_fields", T::Any, Optional, "of the layer `nvtx`: the payload by its schema", |c| {
        range::structured_payload(c.call).map_or(V::None, |value| V::Structured(Structured::Returned(value)))
    })
    .only_of(is_range),
    CallColumn::new("category", T::Integer, Optional, "of the layer `nvtx`: the number of the category", |c| {
        range::category(c.call).map_or(V::None, V::Integer)
    })
    .only_of(is_range),
    CallColumn::new("demangled", T::Text, Optional, "of C++ functions, and of hidden functions with a name", |c| {
        c.call.function.demangled.as_deref().map_or(V::None, text)
    })
    .of_function(),
    CallColumn::new("args", T::Words, Always, "argument words, hexadecimal", |c| V::Words(c.call.args.words())),
    CallColumn::new("arguments", T::List, Optional, "typed arguments, if the function is known", |c| {
        if c.is_described() { V::Structured(Structured::Arguments(c.call, c.exit)) } else { V::None }
    }),
    CallColumn::new("result", T::Result, Nullable, "the status or number; hexadecimal text for an address", |c| {
        c.exit.and_then(Exit::returned).map_or(V::None, result)
    }),
    CallColumn::new("result_name", T::Text, Optional, "the status by name", |c| {
        c.exit.and_then(Exit::status_name).map_or(V::None, text)
    }),
    CallColumn::new("returned", T::Any, Optional, "a result that is no status, as a value", |c| {
        let value = c.exit.and_then(|exit| exit.value.as_deref());
        value.map_or(V::None, |value| V::Structured(Structured::Returned(value)))
    }),
    CallColumn::new("error", T::Boolean, Always, "whether the call failed", |c| {
        V::Boolean(c.exit.is_some_and(Exit::is_error))
    }),
    CallColumn::new("start_ns", T::Integer, Always, "beginning, CLOCK_MONOTONIC", |c| V::Integer(c.call.start_ns))
        .in_unit(ColumnUnit::MonotonicNanoseconds),
    CallColumn::new("duration_ns", T::Integer, Nullable, "null if it did not return", |c| {
        c.exit.and_then(|exit| exit.duration_ns).map_or(V::None, V::Integer)
    })
    .in_unit(ColumnUnit::Nanoseconds),
    CallColumn::new(
        "gpu_ns",
        T::Integer,
        Optional,
        "with `--gpu-time`: what the GPU worked for it and the calls inside, all kernels, copies and sets added up",
        |c| c.exit.and_then(|exit| exit.gpu).map_or(V::None, |gpu| V::Integer(gpu.ns)),
    )
    .in_unit(ColumnUnit::Nanoseconds)
    .in_text(Part::Tail, |c, _, to| {
        if let Some(gpu) = c.exit.and_then(|exit| exit.gpu) {
            let _ = write!(to, " gpu {} after {}", time(gpu.ns), time(gpu.wait_ns));
        }
    }),
    CallColumn::new(
        "gpu_wait_ns",
        T::Integer,
        Optional,
        "with `--gpu-time`: from its beginning to that of the GPU's work",
        |c| c.exit.and_then(|exit| exit.gpu).map_or(V::None, |gpu| V::Integer(gpu.wait_ns)),
    )
    .in_unit(ColumnUnit::Nanoseconds),
    CallColumn::new(
        "gpu_rows",
        T::Integer,
        Optional,
        "with `--gpu-time`: how many kernels, copies and sets these are",
        |c| c.exit.and_then(|exit| exit.gpu).map_or(V::None, |gpu| V::Integer(gpu.rows)),
    ),
    CallColumn::new(
        "open_ns",
        T::Integer,
        Optional,
        "of an unfinished call: from its beginning to the end of the run",
        |c| {
            let open = c.exit.filter(|exit| exit.duration_ns.is_none()).and_then(Exit::took_ns);
            open.map_or(V::None, V::Integer)
        },
    )
    .in_unit(ColumnUnit::Nanoseconds),
    CallColumn::new(
        "request",
        T::Record,
        Optional,
        "of ioctls of the layer `syscall`: `name`, `control` or `class`, `fields`, `statuses`, ...",
        |c| c.exit.map_or(V::None, |exit| V::Structured(Structured::Request(exit))),
    )
    .only_of(|function| function.layer == Layer::SYSCALL)
    .in_exports(|c, to| to.push_str(&c.exit.and_then(request_line).unwrap_or_default())),
    CallColumn::new(
        "submission",
        T::Record,
        Optional,
        "of the layer `submit`: `channel`, `entries`, `methods`, `steps`, `flags`, `not_read`, ...",
        |c| c.exit.map_or(V::None, |exit| V::Structured(Structured::Submission(exit))),
    )
    .only_of(|function| function.layer == Layer::SUBMIT)
    .in_exports(|c, to| to.push_str(&c.exit.and_then(submission::lines).unwrap_or_default().join("\n"))),
    CallColumn::new("kernel", T::Text, Nullable, "name of the launched kernel", |c| {
        c.kernel().map_or(V::None, |kernel| text(kernel))
    })
    .in_text(Part::Head, |c, styles, to| {
        if let Some(kernel) = c.kernel() {
            to.push_str(" kernel=");
            push_styled(styles.kernel, kernel, to);
        }
    })
    .in_exports(|c, to| to.push_str(c.kernel().map_or("", |kernel| kernel))),
    CallColumn::new("stream", T::Text, Optional, "name of the stream among the arguments", |c| {
        stream(c.call).map_or(V::None, |name| V::Text(name.into()))
    })
    .in_exports(|c, to| to.push_str(&stream(c.call).unwrap_or_default())),
    CallColumn::new("caller", T::Address, Always, "return address; of a static runtime an address inside it", |c| {
        V::Address(c.call.caller)
    }),
    CallColumn::new("caller_library", T::Text, Optional, "of hidden functions: the library that made the call", |c| {
        c.call.caller_library.as_deref().map_or(V::None, text)
    })
    .only_of(|function| function.layer == Layer::HIDDEN)
    .in_exports(|c, to| to.push_str(c.call.caller_library.as_deref().unwrap_or_default())),
    CallColumn::new("state", T::Text, Always, "`done`, `unfinished`, `unwound` or `entry_only`", |c| {
        text(c.exit.map_or("entry_only", |exit| exit.state.word()))
    })
    .in_exports(|c, to| {
        to.push_str(c.exit.filter(|exit| exit.duration_ns.is_none()).map_or("", |exit| exit.state.word()));
    }),
    CallColumn::new(
        "returned_late",
        T::Boolean,
        Optional,
        "true: it was written as unwound or unfinished before",
        |c| {
            if c.exit.is_some_and(|exit| exit.late) { V::Boolean(true) } else { V::None }
        },
    ),
    CallColumn::new(
        "hooks",
        T::List,
        Optional,
        "what hooks did: `hook`, `action`, `argument`, `value`, `text`, `original_result`",
        |c| c.exit.map_or(V::None, |exit| V::Structured(Structured::Hooks(exit))),
    )
    .in_text(Part::Tail, |c, _, to| write_hooked(c.call, to))
    .in_exports(|c, to| to.push_str(&hooked_lines(c.call).unwrap_or_default())),
    // Exports have each log under its own name.
    CallColumn::new(
        "logs",
        T::Record,
        Optional,
        "what the call added to `info_log` and `error_log` of a linker",
        |c| {
            let exit = c.exit.filter(|exit| !exit.logs.is_empty());
            exit.map_or(V::None, |exit| V::Structured(Structured::Logs(exit)))
        },
    )
    .in_text(Part::Result, |c, _, to| c.exit.map_or((), |exit| write_logs(exit, to))),
    // Text has the frames in lines below.
    CallColumn::new(
        "stack",
        T::List,
        Optional,
        "frames: `address` (null in Python), `object`, `offset`, `function`, `into`, `inlined`, `file`, `line`, `node` \
         (the frame made this node of autograd, which a backward pass runs)",
        |c| c.exit.map_or(V::None, |_| V::Structured(Structured::Stack(c.call))),
    )
    .in_exports(|c, to| to.push_str(&stacks::lines(c.call).join("\n"))),
    CallColumn::new("stack_end", T::Text, Optional, "`whole`, `truncated` or `unknown`", |c| {
        c.exit.and_then(|_| stacks::end_word(c.call)).map_or(V::None, text)
    }),
];

/// The entries of `COLUMNS` that lines of text have.
static IN_TEXT: LazyLock<Vec<(Part, WriteText)>> =
    LazyLock::new(|| COLUMNS.iter().filter_map(|column| column.text).collect());

/// All columns of a call, in the order of a JSON line.
#[must_use]
pub fn call_columns() -> &'static [CallColumn] {
    COLUMNS
}

/// The column of this name.
#[must_use]
pub fn call_column(name: &str) -> Option<&'static CallColumn> {
    COLUMNS.iter().find(|column| column.name == name)
}

impl CallColumn {
    const fn new(
        name: &'static str,
        column_type: ColumnType,
        presence: Presence,
        meaning: &'static str,
        value: for<'a> fn(CallView<'a>) -> ColumnValue<'a>,
    ) -> CallColumn {
        let (scope, unit) = (Scope::All, None);
        CallColumn { name, column_type, presence, unit, meaning, value, scope, text: None, annotation: None }
    }
    const fn of_function(self) -> CallColumn {
        CallColumn { scope: Scope::Function, ..self }
    }
    const fn only_of(self, has: fn(&Function) -> bool) -> CallColumn {
        CallColumn { scope: Scope::Of(has), ..self }
    }
    const fn in_unit(self, unit: ColumnUnit) -> CallColumn {
        CallColumn { unit: Some(unit), ..self }
    }
    const fn in_text(self, part: Part, write: WriteText) -> CallColumn {
        CallColumn { text: Some((part, write)), ..self }
    }
    const fn in_exports(self, write: fn(CallView<'_>, &mut String)) -> CallColumn {
        CallColumn { annotation: Some(write), ..self }
    }

    /// Its value of a call. A structured one may turn out to be empty in an output.
    #[must_use]
    pub fn value<'a>(&self, of: CallView<'a>) -> ColumnValue<'a> {
        (self.value)(of)
    }

    /// Whether calls of this function may have it.
    pub(crate) fn may_be_of(&self, function: &Function) -> bool {
        if let Scope::Of(has) = self.scope { has(function) } else { true }
    }

    /// Whether all calls of a function have the same value of it.
    pub(crate) fn follows_from_function(&self) -> bool {
        matches!(self.scope, Scope::Function)
    }

    /// Whether exports have it.
    pub(crate) fn is_in_exports(&self) -> bool {
        self.annotation.is_some()
    }

    /// Writes its text for an export. False if this call has none.
    pub(crate) fn annotate(&self, of: CallView<'_>, to: &mut String) -> bool {
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
    pub(crate) fn write_part(self, part: Part, styles: &Styles, to: &mut String) {
        for (_, write) in IN_TEXT.iter().filter(|(of, _)| *of == part) {
            write(self, styles, to);
        }
    }
}

fn is_range(function: &Function) -> bool {
    function.range.is_some()
}

fn text(text: &str) -> ColumnValue<'_> {
    V::Text(text.into())
}

fn result<'a>(returned: Returned) -> ColumnValue<'a> {
    match returned {
        Returned::Status(status) => V::Status(status),
        Returned::Number(number) => V::Integer(number),
        Returned::Word(word) => V::Address(word),
        Returned::Nothing | Returned::Unreported => V::None,
    }
}
