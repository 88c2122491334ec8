//! Calls of interest, grouped by the chain of calls that led to them: those that failed, those that made
//! the program wait. Under each stand its ancestors, the nearest first.

use crate::call_tree::{CallPaths, Chain};
use crate::table_text::{percent, share};
use crate::units::time;
use serde_json::json;
use std::io;

/// What kind of group it is, and what is known of it.
#[derive(Debug)]
enum Of {
    /// Returned this status so often.
    Failed(String, u64),
    /// Blocks the host, for this reason.
    Blocks(&'static str),
}

/// Groups, the heaviest first.
#[derive(Debug)]
pub struct Groups<'a> {
    chains: &'a CallPaths,
    groups: Vec<(&'a Chain, Of)>,
    all_ns: u64,
}

impl<'a> Groups<'a> {
    /// Calls that failed.
    pub fn failed(chains: &'a CallPaths) -> Groups<'a> {
        let of =
            |chain: &'a Chain| chain.failed.iter().map(move |(name, count)| (chain, Of::Failed(name.clone(), *count)));
        let mut groups: Vec<_> = chains.chains.iter().flat_map(of).collect();
        let count = |of: &Of| if let Of::Failed(_, count) = of { *count } else { 0 };
        groups.sort_by(|a, b| count(&b.1).cmp(&count(&a.1)).then_with(|| chains.way(a.0).cmp(&chains.way(b.0))));
        Groups { chains, groups, all_ns: 0 }
    }

    /// Calls that block the host, each moment once: what blocks inside a call that blocks is part of it.
    /// `blocks` says why a function does.
    pub fn blocking(chains: &'a CallPaths, blocks: &dyn Fn(&str) -> Option<&'static str>) -> Groups<'a> {
        let why: Vec<_> = chains.labels.iter().map(|l| blocks(&l.name)).collect();
        let why = |label: &u32| why.get(*label as usize).copied().flatten();
        let outermost = |chain: &'a Chain| {
            let (last, above) = chain.labels.split_last()?;
            let why = why(last).filter(|_| chain.sums.calls > 0 && !above.iter().any(|l| why(l).is_some()))?;
            Some((chain, Of::Blocks(why)))
        };
        let mut groups: Vec<_> = chains.chains.iter().filter_map(outermost).collect();
        groups.sort_by(|a, b| {
            let key = |c: &Chain| (std::cmp::Reverse(c.sums.total_ns), std::cmp::Reverse(c.sums.calls));
            key(a.0).cmp(&key(b.0)).then_with(|| chains.way(a.0).cmp(&chains.way(b.0)))
        });
        Groups { chains, all_ns: chains.chains.iter().map(|c| c.sums.self_ns).sum(), groups }
    }

    /// Writes them for people.
    pub fn write_text(&self, out: &mut dyn io::Write) -> io::Result<()> {
        for (chain, of) in &self.groups {
            let way = self.chains.way(chain);
            let Some((last, above)) = way.split_last() else { continue };
            match of {
                Of::Failed(status, count) => writeln!(out, "{count:>9}  {last} = {status}")?,
                Of::Blocks(why) => {
                    let sums = &chain.sums;
                    // Of which no call ended took no time that anybody knows.
                    let time = |ns| if sums.times.count() > 0 { time(ns) } else { "-".to_owned() };
                    let (total, share) = (time(sums.total_ns), percent(sums.total_ns, self.all_ns));
                    let (calls, most) = (sums.calls, time(sums.times.most()));
                    writeln!(out, "{calls:>9} {total:>9} {share:>7} {most:>9}  {last}: {why}")?;
                    if sums.open > 0 {
                        writeln!(out, "{:>9} of them did not return", sums.open)?;
                    }
                }
            }
            for above in above.iter().rev() {
                let indent = if matches!(of, Of::Failed(..)) { 13 } else { 42 };
                writeln!(out, "{:indent$}in {above}", "")?;
            }
        }
        Ok(())
    }

    /// One JSON object a group; `path` from the outermost call to it.
    pub fn write_json(&self, out: &mut dyn io::Write) -> io::Result<()> {
        for (chain, of) in &self.groups {
            let path = self.chains.way(chain);
            let line = match of {
                Of::Failed(status, count) => json!({"type": "error", "path": path, "status": status, "calls": count}),
                Of::Blocks(why) => json!({
                    "type": "sync", "path": path, "why": why, "calls": chain.sums.calls,
                    "unfinished": chain.sums.open, "total_ns": chain.sums.total_ns, "max_ns": chain.sums.times.most(),
                    "share": share(chain.sums.total_ns, self.all_ns),
                }),
            };
            writeln!(out, "{line}")?;
        }
        Ok(())
    }

    /// True when there is nothing of the kind.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }
}
