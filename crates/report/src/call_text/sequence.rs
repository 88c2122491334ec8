//! Calls that follow one another and tell little, each time as one line: the look-ups with which a library starts, and
//! the settings of a library's objects.

use crate::call_text::unit::Unit;
use crate::format::units::time;
use cutap_trace::{Call, Exit, Function, Instance, Layer, Thread};
use std::sync::Arc;

/// Fewer calls get no line.
const FEWEST: usize = 3;
/// A line is printed at the latest so long after the first call.
const LONGEST_NS: u64 = 1_000_000_000;
/// Functions that a line names.
const NAMED: usize = 3;
/// Columns for their names.
const COLUMNS: usize = 66;

/// What the calls of a run are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// They hand out functions, or start the driver.
    #[default]
    StartUp,
    /// They make and change objects of a library.
    SetUp,
}

/// Calls of a thread that follow one another.
#[derive(Debug, Default)]
pub(crate) struct Sequence {
    purpose: Purpose,
    thread: Option<Arc<Thread>>,
    pub level: u32,
    pub start_ns: u64,
    end_ns: u64,
    /// Time inside the calls.
    took_ns: u64,
    outermost: usize,
    calls: usize,
    functions: Vec<(Arc<Function>, u64)>,
    /// The calls, while they are few: only of those that are printed then.
    few: Vec<Unit>,
}

/// What is printed of a run.
pub(crate) enum Printed {
    Nothing,
    Calls(Vec<Unit>),
    Line(Arc<Thread>, String),
}

impl Sequence {
    /// Whether a call continues it.
    pub fn continues_with(&self, purpose: Purpose, call: &Call) -> bool {
        let is_over = call.start_ns.saturating_sub(self.start_ns) > LONGEST_NS;
        self.has_calls() && self.purpose == purpose && self.level == call.depth && !is_over
    }

    /// Whether there is something to print.
    pub fn has_calls(&self) -> bool {
        self.outermost > 0
    }

    /// Whether it has waited for too long at `now`.
    pub fn is_due(&self, now: u64) -> bool {
        self.has_calls() && self.start_ns.saturating_add(LONGEST_NS) < now
    }

    /// One more call.
    pub fn add(&mut self, purpose: Purpose, unit: Unit, exit: &Exit) {
        let call = &exit.call;
        if !self.has_calls() {
            (self.start_ns, self.level, self.purpose) = (call.start_ns, call.depth, purpose);
            self.thread = Some(call.thread.clone());
        }
        self.outermost += 1;
        self.calls += unit.calls();
        self.end_ns = exit.end_ns;
        self.took_ns += exit.duration_ns.unwrap_or(0);
        match self.functions.iter_mut().find(|(of, _)| of.key == call.function.key) {
            Some((_, count)) => *count += 1,
            None => self.functions.push((call.function.clone(), 1)),
        }
        match (purpose, self.outermost < FEWEST) {
            (Purpose::SetUp, true) => self.few.push(unit),
            _ => self.few.clear(),
        }
    }

    /// Ends it. `near` is a call around it, or after it, which knows its runtime.
    pub fn into_printed(self, near: Option<&Call>) -> Printed {
        match self.thread.clone() {
            Some(thread) if self.outermost >= FEWEST => Printed::Line(thread, self.line(near)),
            _ if self.few.is_empty() => Printed::Nothing,
            _ => Printed::Calls(self.few),
        }
    }

    fn line(&self, near: Option<&Call>) -> String {
        if self.purpose == Purpose::StartUp {
            let instance = near.filter(|call| call.function.layer == Layer::RUNTIME).and_then(|call| call.instance());
            let of = instance.map_or_else(String::new, |instance| format!(" of {}", runtime(instance)));
            let took = time(self.end_ns.saturating_sub(self.start_ns));
            return format!("{} start-up calls{of}, {took} (-a shows them)", self.calls);
        }
        let mut functions: Vec<&(Arc<Function>, u64)> = self.functions.iter().collect();
        functions.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let names = functions.iter().map(|(function, count)| match count {
            1 => function.display_name().to_owned(),
            _ => format!("{} ×{count}", function.display_name()),
        });
        let mut columns = 0;
        let mut parts: Vec<String> = names
            .enumerate()
            .take_while(|(n, name)| {
                columns += name.chars().count() + 2;
                *n == 0 || *n < NAMED && columns <= COLUMNS
            })
            .map(|(_, name)| name)
            .collect();
        let other_calls: u64 = functions.iter().skip(parts.len()).map(|(_, count)| *count).sum();
        match other_calls {
            0 => {}
            1 => parts.push("1 more set-up call".to_owned()),
            n => parts.push(format!("{n} more set-up calls")),
        }
        format!("{}, {} (-a shows them)", parts.join(", "), time(self.took_ns))
    }
}

/// `runtime 12.9 in rand`.
fn runtime(instance: &Instance) -> String {
    let version = instance.version.as_deref().unwrap_or("of unknown version");
    format!("runtime {version} in {}", instance.library)
}
