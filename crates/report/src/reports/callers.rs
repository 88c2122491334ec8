//! `report --callers FUNCTION`: the call tree reversed, from one function to its callers. The last row of each path is
//! the program or library whose code makes the outermost call.

use super::{EventSink, Input, Report, ReportKind, Takes};
use crate::nesting::source_line::flag_of_run;
use crate::statistics::call_tree::{CallPaths, CallTree};
use crate::statistics::called_paths::CalledPaths;
use crate::format::label::Label;
use crate::statistics::path_tree::PathTree;
use crate::statistics::rows::{Rows, call_stats_headings};
use crate::format::function_pattern::is_meant;
use cutap_calls::{is_part, is_profiler, layer_of, plain};
use cutap_trace::{End, did_you_mean};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io;

pub(super) const KIND: ReportKind = ReportKind {
    flag: "callers",
    help: "Who calls FUNCTION (* allowed): calls and code around it, and how much of its time each causes",
    value: Takes::Text("FUNCTION"),
    new: |function| Box::new(Callers {
            function: function.to_owned(),
            calls: CallTree::by_object(),
            stacks: CalledPaths::new(is_nvidia),
            rows: Rows::default(),
        }),
};

/// The largest number of functions in a sentence.
const FEW: usize = 3;

struct Callers {
    function: String,
    calls: CallTree,
    /// The same calls, of a run that keeps stacks.
    stacks: CalledPaths,
    rows: Rows,
}

/// Whether an object is one of NVIDIA's, which calls on behalf of others.
fn is_nvidia(object: &str) -> bool {
    let name = object.as_bytes();
    layer_of(name) != 0 || is_part(name) || is_profiler(name)
}

impl Callers {
    fn is_meant(&self, name: &str) -> bool {
        is_meant(&self.function, name)
    }

    /// The paths with the objects that are known. A return address in the library of the call itself tells nothing: a
    /// runtime reports its calls from inside.
    fn paths(&self) -> CallPaths {
        if !self.stacks.is_empty() {
            return self.stacks.paths();
        }
        let mut paths = self.calls.chains();
        for chain in &mut paths.chains {
            let outermost = chain.labels.first().and_then(|label| paths.labels.get(*label as usize));
            let itself = |from: &str| outermost.is_some_and(|label| &*label.library == from);
            chain.from = chain.from.take().filter(|from| !(is_nvidia(from) && itself(from)));
        }
        paths
    }

    fn tree(&self) -> Option<PathTree> {
        PathTree::up(&self.paths(), &|name| self.is_meant(name)).map(|tree| tree.with_rows(self.rows))
    }

    /// Calls for which no object of the program is known.
    fn unknown(&self) -> u64 {
        let paths = self.paths();
        let of = |label: Option<&u32>| label.and_then(|label| paths.labels.get(*label as usize));
        let is_unknown = |from: Option<&str>| from.is_none_or(is_nvidia);
        let is_wanted = |label: &Label| self.is_meant(&label.name);
        let chains = paths.chains.iter().filter(|chain| of(chain.labels.last()).is_some_and(is_wanted));
        chains.filter(|chain| is_unknown(chain.from.as_deref())).map(|chain| chain.sums.calls).sum()
    }
}

/// The functions of the run whose names are nearest to one that it does not have. Names that begin with it come with
/// their numbers of calls; without any, those that are spelt alike.
fn nearest(function: &str, calls: &CallTree) -> Vec<String> {
    let paths = calls.chains();
    let mut calls_by_name: BTreeMap<&str, u64> = BTreeMap::new();
    for chain in &paths.chains {
        let label = chain.labels.last().and_then(|label| paths.labels.get(*label as usize));
        if let Some(name) = label.map(|label| plain(&label.name)).filter(|name| name.starts_with(function)) {
            *calls_by_name.entry(name).or_default() += chain.sums.calls;
        }
    }
    if !calls_by_name.is_empty() {
        let mut calls_by_name: Vec<(&str, u64)> = calls_by_name.into_iter().collect();
        calls_by_name.sort_by_key(|(_, calls)| Reverse(*calls));
        return calls_by_name.iter().take(FEW).map(|(name, calls)| format!("{name} ({calls})")).collect();
    }
    // A name without its version means every version of it.
    did_you_mean(function, paths.labels.iter().map(|label| plain(&label.name).to_owned()))
}

impl Report for Callers {
    fn input(&mut self) -> Input<'_> {
        Input::Calls(&mut self.calls)
    }
    fn stacks(&mut self) -> Option<&mut dyn EventSink> {
        Some(&mut self.stacks)
    }
    fn rows(&mut self, rows: Rows) -> bool {
        self.rows = rows;
        true
    }
    fn sort_columns(&self) -> Vec<&'static str> {
        call_stats_headings()
    }
    fn has_times(&self) -> bool {
        true
    }
    fn refusal(&self, run: &str) -> Option<String> {
        let Callers { function, calls, .. } = self;
        let none = || match &nearest(function, calls)[..] {
            [] => format!("{run} has no call of {function}; cutap report {run} lists the functions that it has"),
            near => format!("{run} has no call of {function}; did you mean {}?", near.join(", ")),
        };
        self.tree().is_none().then(none)
    }
    fn write_text(&self, end: &End, _colour: bool, out: &mut dyn io::Write) -> io::Result<()> {
        let flag = flag_of_run(end);
        self.tree().map_or(Ok(()), |tree| tree.write_text(out))?;
        match self.unknown() {
            0 => Ok(()),
            _ if !self.stacks.is_empty() => Ok(()),
            1 => writeln!(out, "1 call has no caller outside CUDA's libraries here: record {flag} names it"),
            n => writeln!(out, "{n} calls have no caller outside CUDA's libraries here: record {flag} names them"),
        }
    }
    fn write_json(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.tree().map_or(Ok(()), |tree| tree.write_json(out))
    }
}
