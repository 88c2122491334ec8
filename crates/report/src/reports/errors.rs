//! `report --errors`: the calls that failed, by status and by the calls around them, the most frequent first, with the
//! failed calls inside and the stacks that the run keeps. A failure that several calls pass on is one. Failures inside
//! calls that succeeded, and those after the end of CUDA, are listed last and are no problems.

use super::{EventSink, Input, Report, ReportKind, Takes};
use crate::resources::baseline::{Baseline, ProblemKey, ProblemSize};
use crate::statistics::call_tree::{CallTree, FailedCall, FailureGroup};
use crate::nesting::path_stacks::{PathStacks, error_word};
use crate::statistics::rows::{Rows, SortKey, headings};
use cutap_trace::End;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::io;

pub(super) const KIND: ReportKind = ReportKind {
    flag: "errors",
    help: "Calls that failed, with the calls around them",
    value: Takes::Nothing,
    new: |_| Box::new(Errors::new()),
};

struct Errors {
    calls: CallTree,
    stacks: PathStacks,
    rows: Rows,
    baseline: Baseline,
    has_baseline: bool,
}

impl Errors {
    fn new() -> Errors {
        Errors {
            calls: CallTree::default(),
            stacks: PathStacks::new(error_word),
            rows: Rows::default(),
            baseline: Baseline::default(),
            has_baseline: false,
        }
    }

    /// Stacks are not compared: a group has calls of several.
    fn problem(&self, group: &FailureGroup) -> (ProblemKey, ProblemSize) {
        let key = ProblemKey::new(&group.failed.status, &group.failed.path, &[]);
        (key, ProblemSize { count: group.calls, bytes: 0 })
    }

    /// Without those of the baseline.
    fn failures(&self) -> Vec<FailureGroup> {
        let groups = self.calls.failures();
        let (mut handled, mut unhandled): (Vec<_>, Vec<_>) = groups.into_iter().partition(|group| group.handled);
        self.baseline.retain_new(&mut unhandled, |group| self.problem(group));
        unhandled.append(&mut handled);
        unhandled
    }

    /// Those that no caller handled.
    fn unhandled(&self) -> impl Iterator<Item = FailureGroup> {
        self.failures().into_iter().filter(|group| !group.handled)
    }

    /// The groups that are listed.
    fn groups(&self) -> Vec<FailureGroup> {
        let mut groups = self.failures();
        self.rows.apply(&mut groups, SORT_KEYS);
        // What the caller handled stays behind the rest.
        groups.sort_by_key(|group| group.handled);
        groups
    }
}

const SORT_KEYS: &[SortKey<FailureGroup>] = &[("calls", |group| group.calls)];

impl Report for Errors {
    fn input(&mut self) -> Input<'_> {
        Input::Calls(&mut self.calls)
    }

    fn stacks(&mut self) -> Option<&mut dyn EventSink> {
        Some(&mut self.stacks)
    }

    fn rows(&mut self, rows: Rows) -> bool {
        self.rows = rows;
        rows.depth.is_none()
    }
    fn sort_columns(&self) -> Vec<&'static str> {
        headings(SORT_KEYS)
    }

    fn nothing(&self) -> Option<Cow<'static, str>> {
        let sentence = match self.has_baseline {
            true => "no call failed that does not fail as often in the baseline",
            false => "no call failed",
        };
        self.failures().is_empty().then(|| sentence.into())
    }

    fn has_calls(&self) -> bool {
        self.calls.totals().0 > 0
    }

    fn problems(&self) -> Option<u64> {
        Some(self.unhandled().map(|group| group.calls).sum())
    }

    fn problem_keys(&self) -> Vec<(ProblemKey, ProblemSize)> {
        self.unhandled().map(|group| self.problem(&group)).collect()
    }

    fn leave_out(&mut self, baseline: Baseline) {
        (self.baseline, self.has_baseline) = (baseline, true);
    }

    fn write_text(&self, _: &End, _colour: bool, out: &mut dyn io::Write) -> io::Result<()> {
        let groups = self.groups();
        let stacks = if self.stacks.is_empty() { "" } else { ", with the first stack" };
        writeln!(out, "    calls  call = error, the calls around it, and the failed calls inside{stacks}")?;
        let first_handled = groups.iter().position(|group| group.handled);
        for (n, group) in groups.iter().enumerate() {
            let FailureGroup { failed: FailedCall { path, status }, calls, runs, causes, .. } = group;
            if first_handled == Some(n) {
                writeln!(out, "handled by the caller, or at the end of the process:")?;
            }
            let Some((last, around)) = path.split_last() else { continue };
            writeln!(out, "{calls:>9}  {last} = {status}{}", runs.suffix())?;
            around.iter().rev().try_for_each(|call| writeln!(out, "{:13}in {call}", ""))?;
            for (FailedCall { path, status }, times) in causes {
                let of = match times.cmp(calls) {
                    Ordering::Less => format!(" ({times} of {calls})"),
                    Ordering::Equal => String::new(),
                    Ordering::Greater => format!(" ({times} times)"),
                };
                writeln!(out, "{:13}after {} = {status}{of}", "", path.last().map_or("?", |call| call))?;
            }
            self.stacks.write(path, status, 13, out)?;
        }
        match self.failures().len() - groups.len() {
            0 => {}
            1 => writeln!(out, "{:>9}  and 1 more line, which a larger --top lists", "")?,
            n => writeln!(out, "{:>9}  and {n} more lines, which a larger --top lists", "")?,
        }
        Ok(())
    }

    fn write_json(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let object = |FailedCall { path, status }: &FailedCall, calls: u64| {
            Map::from_iter([
                ("path".to_owned(), json!(path)),
                ("status".to_owned(), json!(status)),
                ("calls".to_owned(), json!(calls)),
            ])
        };
        self.groups().iter().try_for_each(|FailureGroup { failed, calls, runs, causes, handled }| {
            let causes: Vec<Value> = causes.iter().map(|(cause, calls)| object(cause, *calls).into()).collect();
            let mut line = Map::from_iter([("type".to_owned(), json!("error"))]);
            line.extend(object(failed, *calls));
            line.insert("causes".to_owned(), json!(causes));
            line.insert("handled".to_owned(), json!(handled));
            if let Some(first) = self.stacks.of(&failed.path, &failed.status).first() {
                line.insert("stack".to_owned(), json!(**first));
            }
            let mut line = Value::Object(line);
            runs.to_json("calls", &mut line);
            writeln!(out, "{line}")
        })
    }
}
