//! The calls of two runs as one page: who calls what in each, and the functions that differ.

use crate::html::Page;
use crate::picture::About;
use crate::sections::parsed;
use cutap_report::{CallTree, Chain, Diff, Label};
use cutap_trace::CallSink;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io;

/// Paths on the page at most, those with the most time. The page says how many it leaves out.
const MOST: usize = 20_000;

/// The paths of both runs.
#[derive(Debug)]
pub struct Difference {
    trees: [CallTree; 2],
}

impl Default for Difference {
    fn default() -> Difference {
        Difference { trees: [CallTree::with_ranges(), CallTree::with_ranges()] }
    }
}

/// Calls, errors, time, and time without the calls inside, of a path in each run.
#[derive(Debug, Default, Clone, Copy)]
struct PathSums([[u64; 4]; 2]);

impl Difference {
    /// Where calls go that are read without arguments: of the first run, and of the second.
    pub fn calls(&mut self) -> [&mut dyn CallSink; 2] {
        let [a, b] = &mut self.trees;
        [a, b]
    }

    /// The page. `diff` has the rows of all functions that differ.
    pub fn finish(&self, about: &About, diff: &Diff<'_>) -> io::Result<Page> {
        let mut rows = Vec::new();
        diff.write_json(&mut rows)?;
        let difference = json!({"rows": parsed(&rows)?, "paths": self.paths()});
        let run = json!({
            "runs": about.runs, "version": about.version, "filter": about.filter, "damage": about.damage,
        });
        let mut page = Page::new(&about.runs.join(" | "));
        page.json("tables", &json!({"run": run, "difference": difference}))?;
        Ok(page)
    }

    /// Paths by label: the same one of both runs once.
    fn paths(&self) -> Value {
        let mut labels: Vec<Label> = Vec::new();
        let mut numbers: BTreeMap<Label, u32> = BTreeMap::new();
        let mut sums: BTreeMap<Vec<u32>, PathSums> = BTreeMap::new();
        for (side, tree) in self.trees.iter().enumerate() {
            let paths = tree.chains();
            // Another build may have another version of the runtime; the call is the same.
            let merged_labels: Vec<u32> = (paths.labels.iter().cloned())
                .map(|label| {
                    let label = Label { runtime: None, ..label };
                    *numbers.entry(label.clone()).or_insert_with(|| {
                        labels.push(label);
                        labels.len() as u32 - 1
                    })
                })
                .collect();
            for Chain { labels: way, sums: of, .. } in &paths.chains {
                let way: Vec<u32> = way.iter().map(|label| merged_labels[*label as usize]).collect();
                let one = &mut sums.entry(way).or_default().0[side];
                for (sum, more) in one.iter_mut().zip([of.calls, of.errors, of.total_ns, of.self_ns]) {
                    *sum += more;
                }
            }
        }
        let all = sums.len();
        let mut sums: Vec<(Vec<u32>, PathSums)> = sums.into_iter().collect();
        sums.sort_by_key(|(_, PathSums(of))| std::cmp::Reverse(of.map(|side| side[2]).into_iter().max()));
        let label = |label: &Label| json!([&*label.name, label.layer.name(), &*label.library, null]);
        json!({
            "labels": labels.iter().map(label).collect::<Vec<_>>(),
            "paths": sums.iter().take(MOST).map(|(way, PathSums(of))| json!([way, of[0], of[1]])).collect::<Vec<_>>(),
            "left_out": all.saturating_sub(MOST),
        })
    }
}
