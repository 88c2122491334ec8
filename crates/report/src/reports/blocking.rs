//! `report --blocking`: the calls that may block the host, with the calls around them, those with the most time first.
//! A blocking call inside another one is part of that one, so each moment counts once.

use super::{EventSink, Input, Report, ReportKind, Takes};
use crate::statistics::call_stats::{CallStats, View};
use crate::statistics::call_tree::{CallPaths, CallTree, Chain};
use crate::nesting::path_stacks::PathStacks;
use crate::format::label::Label;
use crate::statistics::rows::{Rows, call_stats_headings};
use crate::format::style::Styles;
use crate::statistics::table::Table;
use cutap_trace::{End, Exit};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::io;

pub(super) const KIND: ReportKind = ReportKind {
    flag: "blocking",
    help: "Calls that may block the host, with the calls around them",
    value: Takes::Nothing,
    new: |_| Box::new(Waits::new()),
};

struct Waits {
    calls: CallTree,
    stacks: PathStacks,
    rows: Rows,
}

impl Waits {
    fn new() -> Waits {
        Waits { calls: CallTree::default(), stacks: PathStacks::new(reason), rows: Rows::default() }
    }
}

/// Why a call waits.
fn reason(exit: &Exit) -> Option<String> {
    cutap_calls::blocks(&Label::new(&exit.call.function, None).name).map(str::to_owned)
}

/// The blocking calls of one path, and why they block.
struct Group<'a> {
    path: Vec<String>,
    why: &'static str,
    chain: &'a Chain,
}

fn groups(paths: &CallPaths) -> Vec<Group<'_>> {
    let why: Vec<_> = paths.labels.iter().map(|label| cutap_calls::blocks(&label.name)).collect();
    let why = |label: &u32| why.get(*label as usize).copied().flatten();
    let outermost = |chain: &Chain| {
        let (last, above) = chain.labels.split_last()?;
        why(last).filter(|_| chain.sums.calls > 0 && !above.iter().any(|label| why(label).is_some()))
    };
    let group = |chain| Some(Group { path: paths.way(chain), why: outermost(chain)?, chain });
    let mut groups: Vec<Group<'_>> = paths.chains.iter().filter_map(group).collect();
    groups.sort_by(|a, b| {
        let key = |g: &Group<'_>| (Reverse(g.chain.sums.total_ns), Reverse(g.chain.sums.calls));
        key(a).cmp(&key(b)).then_with(|| a.path.cmp(&b.path))
    });
    groups
}

/// The time of all calls.
fn all_ns(paths: &CallPaths) -> u64 {
    paths.chains.iter().map(|chain| chain.sums.self_ns).sum()
}

impl Report for Waits {
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
        call_stats_headings()
    }
    fn has_times(&self) -> bool {
        true
    }

    fn nothing(&self) -> Option<Cow<'static, str>> {
        groups(&self.calls.chains()).is_empty().then(|| "no call waited for the device".into())
    }

    fn write_text(&self, _: &End, _colour: bool, out: &mut dyn io::Write) -> io::Result<()> {
        let paths = self.calls.chains();
        let mut groups = groups(&paths);
        self.rows.apply_to_calls(&mut groups, |group| &group.chain.sums);
        let headings = CallStats::headings(View::Blocking, false);
        // The calls around it are below its name.
        let indent = headings.iter().map(|h| h.width + 1).sum::<usize>() + 4;
        let mut table = Table::new(headings, Styles::new(false), out);
        let stacks = if self.stacks.is_empty() { "" } else { ", with the first stack" };
        table.head(&format!("call: why it waits, and the calls around it{stacks}"))?;
        for Group { path, why, chain } in &groups {
            let Some((last, around)) = path.split_last() else { continue };
            let cells = chain.sums.cells(View::Blocking, false, all_ns(&paths));
            table.row(&cells, 0, &format!("{last}: {why}"), "")?;
            chain.sums.unfinished().map_or(Ok(()), |line| table.line(&line))?;
            around.iter().rev().try_for_each(|call| table.line(&format!("{:indent$}in {call}", "")))?;
            self.stacks.write(path, why, indent, table.out())?;
        }
        Ok(())
    }

    fn write_json(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let paths = self.calls.chains();
        let mut groups = groups(&paths);
        self.rows.apply_to_calls(&mut groups, |group| &group.chain.sums);
        groups.into_iter().try_for_each(|Group { path, why, chain }| {
            let mut line = json!({"type": "sync", "path": path, "why": why});
            if let Value::Object(line) = &mut line {
                line.extend(chain.sums.json(View::Blocking, all_ns(&paths)));
                if let Some(first) = self.stacks.of(&path, why).first() {
                    line.insert("stack".to_owned(), json!(**first));
                }
            }
            writeln!(out, "{line}")
        })
    }
}
