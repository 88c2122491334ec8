//! A tree of paths as text or JSON: from the program down (`--tree`), or from one function up to its callers
//! (`--callers`).

use crate::format::style::Styles;
use crate::statistics::call_stats::{CallStats, View};
use crate::statistics::call_tree::{CallPaths, Chain};
use crate::statistics::rows::Rows;
use crate::statistics::table::Table;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io;

/// A node of the tree, with its branches by label.
#[derive(Debug, Default)]
pub struct Branch {
    sums: CallStats,
    below: BTreeMap<u32, Branch>,
}

/// A tree that can be written.
#[derive(Debug)]
pub struct PathTree {
    labels: Vec<String>,
    root: Branch,
    /// The time of all calls; if reversed, of all calls of the function.
    all_ns: u64,
    reversed: bool,
    rows: Rows,
}

impl PathTree {
    /// All calls from the program down.
    pub fn down(chains: &CallPaths) -> PathTree {
        let mut root = Branch::default();
        for chain in chains.chains.iter().filter(|c| c.sums.calls > 0) {
            let way = chain.labels.iter().copied();
            root.at(way).sums.merge(&chain.sums);
        }
        let all_ns = chains.chains.iter().map(|c| c.sums.self_ns).sum();
        PathTree { labels: texts(chains), root, all_ns, reversed: false, rows: Rows::default() }
    }

    /// The paths that end in a function whose name matches, from there up. `None` if there is no such call.
    pub fn up(chains: &CallPaths, matches: &dyn Fn(&str) -> bool) -> Option<PathTree> {
        let (mut root, mut labels) = (Branch::default(), texts(chains));
        let mut callers: BTreeMap<(bool, &str), u32> = BTreeMap::new();
        let is_meant = |chain: &&Chain| {
            let last = chain.labels.last().and_then(|l| chains.labels.get(*l as usize));
            last.is_some_and(|label| matches(&label.name))
        };
        for chain in chains.chains.iter().filter(is_meant) {
            // Each caller gets the time of the calls that it causes.
            let mut branch = &mut root;
            let mut caller = |is_object, text| {
                *callers.entry((is_object, text)).or_insert_with(|| {
                    labels.push(if is_object { format!("code of {text}") } else { text.to_owned() });
                    labels.len() as u32 - 1
                })
            };
            let object = chain.from.as_deref().map(|from| caller(true, from));
            let place = chain.place.as_deref().map(|place| caller(false, place));
            for label in chain.labels.iter().rev().chain(&object).chain(&place) {
                branch = branch.below.entry(*label).or_default();
                branch.sums.merge(&chain.sums);
            }
        }
        let all_ns = root.below.values().map(|b| b.sums.total_ns).sum();
        (!root.below.is_empty()).then(|| PathTree { labels, root, all_ns, reversed: true, rows: Rows::default() })
    }

    /// Writes these rows only.
    pub fn with_rows(self, rows: Rows) -> PathTree {
        PathTree { rows, ..self }
    }

    /// Writes it for people.
    pub fn write_text(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let last = if self.reversed { "function <- called by" } else { "function > calls inside it" };
        let mut longest = last.len();
        let mut has_gpu = false;
        let mut measure = |depth, label, branch: &Branch| {
            has_gpu |= branch.sums.gpu_ns > 0;
            longest = longest.max(depth * 2 + self.text(label).chars().count());
            Ok(())
        };
        self.lines(&self.root, 0, &mut measure)?;
        let table = Table::new(CallStats::headings(View::Tree, has_gpu), Styles::new(false), out);
        let mut table = table.names_first(longest);
        table.head(last)?;
        self.lines(&self.root, 0, &mut |depth, label, branch| {
            table.row(&branch.sums.cells(View::Tree, has_gpu, self.all_ns), depth * 2, self.text(label), "")?;
            branch.sums.unfinished().map_or(Ok(()), |line| table.line(&line))
        })
    }

    /// One JSON object a node, with the way to it.
    pub fn write_json(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let mut way: Vec<&str> = Vec::new();
        self.lines(&self.root, 0, &mut |depth, label, branch| {
            way.truncate(depth);
            way.push(self.text(label));
            let kind = if self.reversed { "callers" } else { "tree" };
            let mut line = json!({"type": kind, "depth": depth, "path": way});
            if let Value::Object(line) = &mut line {
                line.extend(branch.sums.json(View::Tree, self.all_ns));
            }
            writeln!(out, "{line}")
        })
    }

    fn text(&self, label: u32) -> &str {
        self.labels.get(label as usize).map_or("?", String::as_str)
    }

    /// Calls `line` for each node and then for the nodes below it, those with the most time first.
    fn lines(
        &self,
        branch: &Branch,
        depth: usize,
        line: &mut dyn FnMut(usize, u32, &Branch) -> io::Result<()>,
    ) -> io::Result<()> {
        if self.rows.depth.is_some_and(|deepest| depth >= deepest) {
            return Ok(());
        }
        let mut below: Vec<(&u32, &Branch)> = branch.below.iter().collect();
        below.sort_by(|a, b| {
            let key = |b: &Branch| (std::cmp::Reverse(b.sums.total_ns), std::cmp::Reverse(b.sums.calls));
            key(a.1).cmp(&key(b.1)).then_with(|| self.text(*a.0).cmp(self.text(*b.0)))
        });
        self.rows.apply_to_calls(&mut below, |(_, branch)| &branch.sums);
        for (label, branch) in below {
            line(depth, *label, branch)?;
            self.lines(branch, depth + 1, line)?;
        }
        Ok(())
    }
}

impl Branch {
    fn at(&mut self, way: impl Iterator<Item = u32>) -> &mut Branch {
        way.fold(self, |branch, label| branch.below.entry(label).or_default())
    }
}

fn texts(chains: &CallPaths) -> Vec<String> {
    chains.labels.iter().map(|l| l.text()).collect()
}
