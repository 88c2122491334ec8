//! How many calls a terminal does not show one by one, for a line at the end.

use crate::call_text::unit::Unit;
use crate::format::units::time;
use cutap_trace::{Exit, Function};
use std::collections::HashMap;
use std::sync::Arc;

/// Functions that the line names.
const NAMED: usize = 2;

/// Calls that were folded, by function.
#[derive(Debug, Default)]
pub(crate) struct FoldedCalls {
    functions: HashMap<u32, (Arc<Function>, u64)>,
    calls: u64,
    /// Time in the calls that have no line.
    took_ns: u64,
    /// Of these, calls that failed inside a call that did not.
    inner_failures: u64,
}

impl FoldedCalls {
    /// A call is not shown, nor are those inside.
    pub fn add(&mut self, unit: &Unit) {
        unit.exits().for_each(|exit| self.count(exit));
        self.took_ns += unit.exits().last().and_then(|exit| exit.duration_ns).unwrap_or(0);
    }

    /// A call is shown after all, or counted in another way.
    pub fn remove(&mut self, unit: &Unit) {
        self.took_ns = self.took_ns.saturating_sub(unit.exits().last().and_then(|exit| exit.duration_ns).unwrap_or(0));
        for exit in unit.exits() {
            self.calls = self.calls.saturating_sub(1);
            self.inner_failures = self.inner_failures.saturating_sub(u64::from(exit.is_error()));
            if let Some((_, count)) = self.functions.get_mut(&exit.call.function.key) {
                *count = count.saturating_sub(1);
            }
        }
    }

    /// A call is shown as `shown`, and those around and inside are not.
    pub fn add_inside(&mut self, unit: &Unit, main_exit: Option<&Exit>) {
        let is_shown = |exit: &&Exit| main_exit.is_some_and(|main| main.call.is_same_call(&exit.call));
        unit.exits().filter(|exit| !is_shown(exit)).for_each(|exit| self.count(exit));
    }

    fn count(&mut self, exit: &Exit) {
        self.calls += 1;
        self.inner_failures += u64::from(exit.is_error());
        let function = &exit.call.function;
        self.functions.entry(function.key).or_insert_with(|| (function.clone(), 0)).1 += 1;
    }

    /// The line; none if all calls were shown.
    pub fn end_note(&self) -> Option<String> {
        let mut names: HashMap<&str, u64> = HashMap::new();
        self.functions
            .values()
            .for_each(|(function, count)| *names.entry(function.display_name()).or_default() += count);
        let mut names: Vec<(&str, u64)> = names.into_iter().filter(|(_, count)| *count > 0).collect();
        names.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), *name));
        let names_text: Vec<String> =
            names.iter().take(NAMED).map(|(name, count)| format!("{name} ×{count}")).collect();
        let other_functions = names.len().saturating_sub(NAMED);
        let other_functions =
            if other_functions > 0 { format!(" and {other_functions} more functions") } else { String::new() };
        let failures_note = match self.inner_failures {
            0 => String::new(),
            1 => "; 1 of them failed inside a call that did not".to_owned(),
            failures => format!("; {failures} of them failed inside calls that did not"),
        };
        let took = if self.took_ns > 0 {
            format!("; those without a line took {}", time(self.took_ns))
        } else {
            String::new()
        };
        let suffix = took + &failures_note;
        match self.calls {
            0 => None,
            1 => Some(format!(
                "1 call is folded: {}{suffix}; -a shows it",
                names_text.join(", ").trim_end_matches(" ×1")
            )),
            calls => Some(format!(
                "{calls} calls are folded: {}{other_functions}{suffix}; -a shows each",
                names_text.join(", ")
            )),
        }
    }
}
