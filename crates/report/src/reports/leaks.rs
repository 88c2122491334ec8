//! `report --leaks`: the resources that were made and never freed, with the calls that made them.

use super::{EventSink, Input, Report, ReportKind, Takes};
use crate::format::json_writer::write_json;
use crate::notes::missing_calls::ended_early;
use crate::resources::baseline::{Baseline, ProblemKey, ProblemSize};
use crate::resources::leaks::{Group, Leaks, MOST};
use crate::nesting::path_stacks::write_frames;
use crate::nesting::source_line::flag_of_run;
use crate::call::resource_names::plural;
use crate::statistics::rows::{Rows, SortKey, headings};
use crate::resources::selected_functions::SelectedFunctions;
use crate::format::units::bytes;
use cutap_trace::{Call, End, EventVisitor, Exit, Filter, TimeWindow};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::io;

pub(super) const KIND: ReportKind = ReportKind {
    flag: "leaks",
    help: "What was made and never freed, with the calls that made it",
    value: Takes::Nothing,
    new: |_| Box::new(LeakList::default()),
};

#[derive(Default)]
struct LeakList {
    leaks: Leaks,
    rows: Rows,
    calls: u64,
    /// The functions that the filter selects; none without a filter.
    selected: Option<SelectedFunctions>,
    baseline: Baseline,
    has_baseline: bool,
}

const SORT_KEYS: &[SortKey<Group>] = &[("count", |group| group.count), ("bytes", |group| group.bytes)];

impl EventVisitor for LeakList {
    fn enter(&mut self, call: &Call) {
        self.calls += 1;
        self.leaks.enter(call);
    }

    fn exit(&mut self, exit: &Exit) {
        self.leaks.exit(exit);
    }
}

impl LeakList {
    fn groups(&self) -> Vec<Group> {
        let mut groups = self.leaks.groups_of(self.selected.as_ref());
        self.baseline.retain_new(&mut groups, problem);
        groups
    }

    fn listed(&self) -> Vec<Group> {
        let mut groups = self.groups();
        self.rows.apply(&mut groups, SORT_KEYS);
        groups
    }
}

fn problem(group: &Group) -> (ProblemKey, ProblemSize) {
    let key = ProblemKey::new(group.kind, &group.way, &group.stack);
    (key, ProblemSize { count: group.count, bytes: group.bytes })
}

impl Report for LeakList {
    fn input(&mut self) -> Input<'_> {
        Input::Events(self)
    }

    fn rows(&mut self, rows: Rows) -> bool {
        self.rows = rows;
        rows.depth.is_none()
    }
    fn sort_columns(&self) -> Vec<&'static str> {
        headings(SORT_KEYS)
    }

    fn reads_all(&self) -> bool {
        true
    }

    fn during(&mut self, window: TimeWindow) {
        self.leaks.during(window);
    }

    fn filtered(&mut self, filter: &Filter) -> Option<&mut dyn EventSink> {
        Some(self.selected.insert(SelectedFunctions::of(filter)))
    }

    fn has_calls(&self) -> bool {
        self.calls > 0
    }

    fn problems(&self) -> Option<u64> {
        let count: u64 = self.groups().iter().map(|group| group.count).sum();
        Some(count + self.leaks.beyond())
    }

    fn problem_keys(&self) -> Vec<(ProblemKey, ProblemSize)> {
        self.groups().iter().map(problem).collect()
    }

    fn leave_out(&mut self, baseline: Baseline) {
        (self.baseline, self.has_baseline) = (baseline, true);
    }

    fn nothing(&self) -> Option<Cow<'static, str>> {
        let none = || match self.leaks.ended_with_context() {
            _ if self.has_baseline => "nothing was left that the baseline does not have".into(),
            _ if self.selected.is_some() => "nothing of what the filter selects was left".into(),
            _ if !self.leaks.has_made() => "nothing was left: no call made memory or a handle".into(),
            (0, _) => "nothing was left: all that was made was freed".into(),
            (count, size) => {
                let pieces = if count == 1 { "1 piece".to_owned() } else { format!("{count} pieces") };
                let size = bytes(size);
                let sentence = format!("all that was made was freed or ended with its context: {pieces}, {size}");
                format!("nothing was left: {sentence}").into()
            }
        };
        (self.groups().is_empty() && self.leaks.beyond() == 0).then(none)
    }

    fn write_text(&self, end: &End, _colour: bool, out: &mut dyn io::Write) -> io::Result<()> {
        let groups = self.groups();
        writeln!(out, "    count  what was left, the call that made it, and the calls around it")?;
        for group in self.listed() {
            let size = if group.bytes > 0 { format!(", {}", bytes(group.bytes)) } else { String::new() };
            let (made, around) = group.way.split_last().map_or(("?", &[][..]), |(m, a)| (m.as_str(), a));
            let resources = plural(group.kind, group.count);
            writeln!(out, "{:>9} {resources}{size}  made by {made}{}", group.count, group.runs.suffix())?;
            around.iter().rev().try_for_each(|call| writeln!(out, "{:>12}in {call}", ""))?;
            write_frames(&group.stack, 12, out)?;
        }
        let (count, size) = groups.iter().fold((0, 0), |(n, size), group| (n + group.count, size + group.bytes));
        let memory = if size > 0 { format!(", {} of memory", bytes(size)) } else { String::new() };
        writeln!(out, "{count:>9} in all{memory}")?;
        if self.leaks.beyond() > 0 {
            let beyond = self.leaks.beyond();
            writeln!(out, "{beyond:>9} more were made while {MOST} others were alive, and not followed")?;
        }
        if let Some(sentence) = ended_early(&[end]) {
            writeln!(out, "{sentence}, so what is left may be no leak")?;
        }
        match groups.iter().all(|group| group.stack.is_empty()) {
            true => writeln!(out, "record {} also shows where the program makes these calls", flag_of_run(end)),
            false => Ok(()),
        }
    }

    /// One JSON object a group.
    fn write_json(&self, out: &mut dyn io::Write) -> io::Result<()> {
        for group in self.listed() {
            let first: Vec<String> = group.first.iter().map(|a| format!("{a:#x}")).collect();
            let mut line = json!({
                "type": "leak", "kind": group.kind, "count": group.count, "bytes": group.bytes, "path": group.way,
                "first": first,
            });
            if let (false, Value::Object(line)) = (group.stack.is_empty(), &mut line) {
                line.insert("stack".to_owned(), json!(*group.stack));
            }
            group.runs.to_json("count", &mut line);
            write_json(out, &line)?;
            out.write_all(b"\n")?;
        }
        Ok(())
    }
}
