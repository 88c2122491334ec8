//! Numbers by run, where several are read together.

use cutap_trace::{Process, ProgramEnd, RunName, signal_name};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A number of each run. It stays empty if one run is read.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunCounts(BTreeMap<u32, (Arc<RunName>, u64)>);

impl RunCounts {
    /// Adds to the number of a process's run.
    pub fn add(&mut self, process: &Process, count: u64) {
        if let Some(run) = &process.run {
            self.add_run(run, count);
        }
    }

    /// Adds to the number of a run.
    pub fn add_run(&mut self, run: &Arc<RunName>, count: u64) {
        let sum = &mut self.0.entry(run.place).or_insert_with(|| (run.clone(), 0)).1;
        *sum = sum.saturating_add(count);
    }

    /// `rank 2`, `ranks 0-3, 7` or names of files; none if one run is read.
    pub fn text(&self) -> Option<String> {
        let names = || self.0.values().map(|(run, _)| run.to_string()).collect::<Vec<_>>().join(", ");
        let ranks: Option<Vec<u32>> = self.0.values().map(|(run, _)| run.rank).collect();
        match ranks {
            _ if self.0.is_empty() => None,
            Some(ranks) if ranks.len() > 1 => Some(format!("ranks {}", intervals(ranks))),
            _ => Some(names()),
        }
    }

    /// The same in brackets, after a space; empty if one run is read.
    pub fn suffix(&self) -> String {
        self.text().map_or_else(String::new, |text| format!(" ({text})"))
    }

    /// Adds the key `runs` to a line: the name, the rank and the number of each. `of` is the name of the number.
    pub fn to_json(&self, of: &str, line: &mut Value) {
        if let (false, Value::Object(line)) = (self.0.is_empty(), line) {
            let one = |(run, count): &(Arc<RunName>, u64)| {
                let mut fields = run_fields(run);
                fields.insert(of.to_owned(), json!(count));
                Value::Object(fields)
            };
            line.insert("runs".to_owned(), self.0.values().map(one).collect());
        }
    }
}

/// `0-3, 7`.
fn intervals(mut numbers: Vec<u32>) -> String {
    numbers.sort_unstable();
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match parts.last_mut().filter(|(_, last)| last.checked_add(1) == Some(number)) {
            Some((_, last)) => *last = number,
            None => parts.push((number, number)),
        }
    }
    let part = |(first, last): &(u32, u32)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    parts.iter().map(part).collect::<Vec<_>>().join(", ")
}

/// `run` and `rank`, as JSON lines have them.
pub(crate) fn run_fields(run: &RunName) -> Map<String, Value> {
    let mut fields = Map::new();
    fields.insert("run".to_owned(), json!(&*run.file));
    fields.extend(run.rank.map(|rank| ("rank".to_owned(), json!(rank))));
    fields
}

/// How a program ended.
pub(crate) fn program_end_json(of: ProgramEnd) -> Value {
    match of {
        ProgramEnd::Code(code) => json!({"exit_code": code}),
        ProgramEnd::Signal(signal) => json!({"signal": signal_name(i32::from(signal))}),
    }
}

/// Adds `run` and `rank` to a line about a process, if several runs are read.
pub(crate) fn with_run(mut line: Value, process: &Process) -> Value {
    if let (Some(run), Value::Object(line)) = (&process.run, &mut line) {
        line.extend(run_fields(run));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(ranks: &[Option<u32>]) -> String {
        let mut counts = RunCounts::default();
        for (place, rank) in ranks.iter().enumerate() {
            let file = format!("run{place}").into();
            counts.add_run(&Arc::new(RunName { place: place as u32, rank: *rank, file }), 1);
        }
        counts.text().unwrap_or_default()
    }

    #[test]
    fn ranks_are_intervals() {
        assert_eq!(text(&[]), "");
        assert_eq!(text(&[Some(2)]), "rank 2");
        assert_eq!(text(&[Some(0), Some(1), Some(2), Some(7)]), "ranks 0-2, 7");
        assert_eq!(text(&[Some(10), Some(1), Some(2)]), "ranks 1-2, 10");
        assert_eq!(text(&[None, None]), "run0, run1");
    }
}
