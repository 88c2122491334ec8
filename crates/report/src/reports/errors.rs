//! `report --errors`: the calls that failed, by status and by the calls around them, the most frequent first.

use super::{Input, Kind, Report, Takes};
use crate::call_tree::{CallPaths, CallTree};
use cutap_trace::End;
use serde_json::json;
use std::io;

pub(super) const KIND: Kind = Kind {
    flag: "errors",
    help: "Calls that failed, with the calls around them",
    value: Takes::Nothing,
    new: |_| Box::new(Errors(CallTree::default())),
};

struct Errors(CallTree);

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

    fn write_text(&self, _: &End, _colour: bool, out: &mut dyn io::Write) -> io::Result<()> {
        let groups = groups(&self.0.chains());
        if groups.is_empty() {
            writeln!(out, "no call failed")?;
        } else {
            writeln!(out, "    calls  call = error, and the calls around it")?;
        }
        for Group { path, status, calls } in &groups {
            let Some((last, around)) = path.split_last() else { continue };
            writeln!(out, "{calls:>9}  {last} = {status}")?;
            around.iter().rev().try_for_each(|call| writeln!(out, "{:13}in {call}", ""))?;
        }
        Ok(())
    }

    fn write_json(&self, out: &mut dyn io::Write) -> io::Result<()> {
        groups(&self.0.chains()).into_iter().try_for_each(|Group { path, status, calls }| {
            writeln!(out, "{}", json!({"type": "error", "path": path, "status": status, "calls": calls}))
        })
    }
}
