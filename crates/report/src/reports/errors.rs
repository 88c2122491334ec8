//! `report --errors`: the calls that failed, by status and by the calls around them, the most frequent first,
//! with the stacks that the run keeps.

use super::{EventSink, Input, Kind, Report, Takes};
use crate::call_tree::{CallPaths, CallTree};
use crate::path_stacks::{PathStacks, error_word};
use cutap_trace::End;
use serde_json::{Value, json};
use std::io;

pub(super) const KIND: Kind = Kind {
    flag: "errors",
    help: "Calls that failed, with the calls around them",
    value: Takes::Nothing,
    new: |_| Box::new(Errors(CallTree::default(), PathStacks::new(error_word))),
};

struct Errors(CallTree, PathStacks);

/// Calls of one path that returned one status.
struct Group {
    /// From the outermost call to the one that failed.
    path: Vec<String>,
    status: String,
    calls: u64,
}

fn groups(paths: &CallPaths) -> Vec<Group> {
    let failed = paths.chains.iter().flat_map(|chain| chain.failed.iter().map(move |failed| (chain, failed)));
    let group = |(chain, (status, calls)): (_, &(String, u64))| Group {
        path: paths.way(chain),
        status: status.clone(),
        calls: *calls,
    };
    let mut groups: Vec<Group> = failed.map(group).collect();
    groups.sort_by(|a, b| b.calls.cmp(&a.calls).then_with(|| a.path.cmp(&b.path)));
    groups
}

impl Report for Errors {
    fn input(&mut self) -> Input<'_> {
        Input::Calls(&mut self.0)
    }

    fn stacks(&mut self) -> Option<&mut dyn EventSink> {
        Some(&mut self.1)
    }

    fn nothing(&self) -> Option<&'static str> {
        groups(&self.0.chains()).is_empty().then_some("no call failed")
    }

    fn write_text(&self, _: &End, _colour: bool, out: &mut dyn io::Write) -> io::Result<()> {
        let groups = groups(&self.0.chains());
        let stacks = if self.1.is_empty() { "" } else { ", with the first stack" };
        writeln!(out, "    calls  call = error, and the calls around it{stacks}")?;
        for Group { path, status, calls } in &groups {
            let Some((last, around)) = path.split_last() else { continue };
            writeln!(out, "{calls:>9}  {last} = {status}")?;
            around.iter().rev().try_for_each(|call| writeln!(out, "{:13}in {call}", ""))?;
            self.1.write(path, status, 13, out)?;
        }
        Ok(())
    }

    fn write_json(&self, out: &mut dyn io::Write) -> io::Result<()> {
        groups(&self.0.chains()).into_iter().try_for_each(|Group { path, status, calls }| {
            let mut line = json!({"type": "error", "path": path, "status": status, "calls": calls});
            if let (Some(first), Value::Object(line)) = (self.1.of(&path, &status).first(), &mut line) {
                line.insert("stack".to_owned(), json!(**first));
            }
            writeln!(out, "{line}")
        })
    }
}
