//! `cutap diff A B`: functions whose number of calls, errors or arguments differ between two runs. What differs from
//! run to run anyway is no difference: host addresses, device addresses inside the same allocation, process ids,
//! order, times.

mod normal;

use crate::call_bytes::{call_bytes, copies};
use crate::label::Label;
use crate::units::{bytes, time};
use cutap_trace::{Event, Exit};
use normal::arguments;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// Different arguments whose text is kept of a function; of more only the number is known.
const KEPT: usize = 4096;
/// Arguments of a function that are printed for each run.
const PRINTED: usize = 3;
/// Smallest difference in time that `--times` prints: a part of the first run, and nanoseconds.
const LEAST: (f64, u64) = (0.2, 1_000_000);

/// What a run did, function by function.
#[derive(Debug, Default)]
pub struct Profile {
    functions: BTreeMap<Label, Sums>,
}

#[derive(Debug, Default)]
struct Sums {
    calls: u64,
    errors: u64,
    /// Calls that did not return.
    open: u64,
    ns: u64,
    /// The function copies or fills memory; none before its first call.
    copies: Option<bool>,
    /// What its calls allocated, copied or filled, as far as their arguments have sizes.
    bytes: u64,
    arguments: BTreeMap<String, u64>,
    /// Calls with arguments beyond those.
    more: u64,
}

impl Profile {
    /// Takes one event.
    pub fn event(&mut self, event: &Event) {
        match event {
            Event::Exit(exit) => self.exit(exit),
            Event::Enter(call) if call.function.entry_only => {
                let label = Label::new(&call.function, call.instance().map(|i| &**i));
                self.functions.entry(label).or_default().calls += 1;
            }
            _ => {}
        }
    }

    fn exit(&mut self, exit: &Exit) {
        let call = &exit.call;
        let sums = self.functions.entry(Label::new(&call.function, call.instance().map(|i| &**i))).or_default();
        sums.calls += u64::from(!exit.late);
        sums.errors += u64::from(exit.is_error());
        sums.open += u64::from(exit.duration_ns.is_none());
        sums.ns += exit.took_ns().unwrap_or(0);
        let copies = *sums.copies.get_or_insert_with(|| copies(&call.function.name));
        sums.bytes = sums.bytes.saturating_add(call_bytes(exit, copies).unwrap_or(0));
        let arguments = arguments(exit);
        let known = sums.arguments.len() < KEPT || sums.arguments.contains_key(&arguments);
        match known {
            true => *sums.arguments.entry(arguments).or_default() += 1,
            false => sums.more += 1,
        }
    }
}

/// The differences of two runs.
#[derive(Debug)]
pub struct Diff<'a> {
    a: &'a Profile,
    b: &'a Profile,
    times: bool,
    labels: Vec<&'a Label>,
}

impl<'a> Diff<'a> {
    /// Compares; with `times`, times too.
    pub fn new(a: &'a Profile, b: &'a Profile, times: bool) -> Diff<'a> {
        let all: BTreeSet<&Label> = a.functions.keys().chain(b.functions.keys()).collect();
        let mut diff = Diff { a, b, times, labels: Vec::new() };
        diff.labels = all.into_iter().filter(|label| diff.differs(label)).collect();
        diff
    }

    /// Both runs did the same.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    fn differs(&self, label: &Label) -> bool {
        let (Some(a), Some(b)) = (self.a.functions.get(label), self.b.functions.get(label)) else { return true };
        (a.calls, a.errors, a.open, &a.arguments, a.more) != (b.calls, b.errors, b.open, &b.arguments, b.more)
            || self.times && slower(a, b).is_some()
    }

    /// Writes the differences for people. `names` are those of the runs.
    pub fn write_text(&self, names: [&str; 2], out: &mut dyn io::Write) -> io::Result<()> {
        if !self.is_empty() {
            for (letter, name, run) in [("A", names[0], self.a), ("B", names[1], self.b)] {
                let of: u64 = run.functions.values().map(|sums| sums.calls).sum();
                let functions = match run.functions.len() {
                    1 => "1 function".to_owned(),
                    n => format!("{n} functions"),
                };
                writeln!(out, "{letter} is {name}: {} of {functions}", calls(of))?;
            }
            writeln!(out, "- only in A   + only in B   ~ in both, A -> B\n")?;
        }
        for label in &self.labels {
            match (self.a.functions.get(*label), self.b.functions.get(*label)) {
                (Some(a), None) => writeln!(out, "- {}: {}, only in A", label.text(), calls_and_bytes(a))?,
                (None, Some(b)) => writeln!(out, "+ {}: {}, only in B", label.text(), calls_and_bytes(b))?,
                (Some(a), Some(b)) => self.write_changed(label, a, b, out)?,
                (None, None) => {}
            }
        }
        match (self.labels.len(), self.times) {
            (0, _) if self.a.functions.len() == 1 => {
                writeln!(out, "no difference in the calls, errors and arguments of 1 function")
            }
            (0, _) => writeln!(
                out,
                "no difference in the calls, errors and arguments of {} functions",
                self.a.functions.len()
            ),
            (1, false) => writeln!(out, "1 function differs; --times compares times too"),
            (n, false) => writeln!(out, "{n} functions differ; --times compares times too"),
            (1, true) => writeln!(out, "1 function differs"),
            (n, true) => writeln!(out, "{n} functions differ"),
        }
    }

    fn write_changed(&self, label: &Label, a: &Sums, b: &Sums, out: &mut dyn io::Write) -> io::Result<()> {
        let mut parts = Vec::new();
        for (what, a, b) in
            [("calls", a.calls, b.calls), ("errors", a.errors, b.errors), ("unfinished", a.open, b.open)]
        {
            if a != b {
                parts.push(format!("{what} {a} -> {b} ({:+})", i128::from(b) - i128::from(a)));
            }
        }
        let mut change = |what: &str, from: u64, to: u64, text: fn(u64) -> String| {
            let sign = if to > from { '+' } else { '-' };
            parts.push(format!("{what} {} -> {} ({sign}{})", text(from), text(to), text(from.abs_diff(to))));
        };
        if a.bytes != b.bytes {
            change("bytes", a.bytes, b.bytes, bytes);
        }
        if let Some((from, to)) = slower(a, b).filter(|_| self.times) {
            change("time", from, to, time);
        }
        let (only_a, only_b) = (only_in(a, b), only_in(b, a));
        if parts.is_empty() {
            parts.push(format!("{}, with other arguments", calls(a.calls)));
        }
        writeln!(out, "~ {}: {}", label.text(), parts.join(", "))?;
        for (sign, letter, only) in [("-", "A", &only_a), ("+", "B", &only_b)] {
            for (arguments, count) in only.iter().take(PRINTED) {
                writeln!(out, "    {sign} {} more in {letter}: ({arguments})", calls(*count))?;
            }
            if only.len() > PRINTED {
                writeln!(out, "    {sign} and {} other lists of arguments", only.len() - PRINTED)?;
            }
        }
        Ok(())
    }

    /// One JSON object a function.
    pub fn write_json(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.labels.iter().try_for_each(|label| {
            let side = |of: Option<&Sums>, other: Option<&Sums>| {
                let none = Sums::default();
                let only = of.map(|of| only_in(of, other.unwrap_or(&none))).unwrap_or_default();
                let only: Vec<_> =
                    only.iter().take(PRINTED).map(|(a, n)| json!({"arguments": a, "calls": n})).collect();
                of.map(|s| {
                    json!({
                        "calls": s.calls, "errors": s.errors, "total_ns": s.ns, "bytes": s.bytes, "only": only,
                    })
                })
            };
            let (a, b) = (self.a.functions.get(*label), self.b.functions.get(*label));
            let line = json!({
                "type": "diff", "layer": label.layer.name(), "library": &*label.library, "name": &*label.name,
                "a": side(a, b), "b": side(b, a),
            });
            writeln!(out, "{line}")
        })
    }
}

/// Arguments that one run has more often than the other.
fn only_in(of: &Sums, other: &Sums) -> Vec<(String, u64)> {
    let more = |(text, count): (&String, &u64)| {
        let left = count.saturating_sub(other.arguments.get(text).copied().unwrap_or(0));
        (left > 0).then(|| (text.clone(), left))
    };
    of.arguments.iter().filter_map(more).collect()
}

/// Both times, if they differ by enough to be no accident.
fn slower(a: &Sums, b: &Sums) -> Option<(u64, u64)> {
    let by = a.ns.abs_diff(b.ns);
    (by > LEAST.1 && by as f64 > LEAST.0 * a.ns as f64).then_some((a.ns, b.ns))
}

fn calls_and_bytes(sums: &Sums) -> String {
    match sums.bytes {
        0 => calls(sums.calls),
        n => format!("{}, {}", calls(sums.calls), bytes(n)),
    }
}

fn calls(n: u64) -> String {
    if n == 1 { "1 call".to_owned() } else { format!("{n} calls") }
}
