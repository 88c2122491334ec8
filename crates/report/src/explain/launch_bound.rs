//! Stretches in which a thread only submits work, and the GPU is idle in between: the host decides the speed. It needs
//! GPU time.

use super::activity::Activity;
use super::gpu_pauses::GpuPauses;
use super::seen::ObservedCall;
use super::site::{Key, Site, key};
use super::{Finding, Rank, Rule, percent};
use crate::format::units::time;
use crate::statistics::idle::LONGEST_BREAK_NS;
use cutap_trace::{Thread, submits_work};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Pieces of work of a stretch, at least. For fewer it is not worth to make a graph.
const FEWEST: u64 = 50;
/// The GPU is idle for one part in so many of a stretch, at least. With less, the kernels decide its time.
const IDLE_PART: u64 = 4;
/// Calls that are named.
const NAMED: usize = 2;

pub(super) fn rule() -> Box<dyn Rule> {
    Box::new(LaunchBound::default())
}

#[derive(Default)]
struct LaunchBound {
    pauses: Arc<GpuPauses>,
    sites: HashMap<Key, Site>,
    /// By the thread's key.
    threads: BTreeMap<u32, Submitter>,
}

/// A thread that submits work.
struct Submitter {
    thread: Arc<Thread>,
    stretch: Stretch,
    /// The end of its last call that does more than to submit.
    other_end_ns: u64,
    /// The stretches that are launch-bound.
    launch_bound: Vec<Stretch>,
}

/// Submissions with nothing but short breaks in between.
#[derive(Debug, Clone, Default)]
struct Stretch {
    start_ns: u64,
    end_ns: u64,
    pieces: u64,
    idle_ns: u64,
    /// Pieces by place. Of stretches that are added up, those of all.
    places: BTreeMap<Key, u64>,
}

impl Stretch {
    fn ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    fn is_launch_bound(&self) -> bool {
        self.pieces >= FEWEST && self.idle_ns.saturating_mul(IDLE_PART) >= self.ns()
    }
}

/// The call does more than to submit work: it waits, or it allocates or loads something for long.
fn ends_stretch(seen: &ObservedCall<'_>) -> bool {
    let is_long = || seen.exit.duration_ns.is_none_or(|ns| ns > LONGEST_BREAK_NS);
    let is_other = matches!(seen.counted.activity, Activity::Allocation | Activity::Modules | Activity::Waits);
    seen.function().blocks.is_some() || is_other && is_long()
}

impl Rule for LaunchBound {
    fn name(&self) -> &'static str {
        "launch_bound"
    }

    fn gpu_pauses(&mut self, pauses: &Arc<GpuPauses>) {
        self.pauses = pauses.clone();
    }

    fn call(&mut self, seen: &ObservedCall<'_>) {
        if self.pauses.is_empty() {
            return;
        }
        let call = seen.call();
        let submits = seen.exit.gpu.is_some() && submits_work(call);
        if !submits {
            if let Some(submitter) = self.threads.get_mut(&call.thread.key)
                && ends_stretch(seen)
            {
                submitter.other_end_ns = seen.exit.end_ns;
            }
            return;
        }
        let submitter = self.threads.entry(call.thread.key).or_insert_with(|| Submitter {
            thread: call.thread.clone(),
            stretch: Stretch::default(),
            other_end_ns: 0,
            launch_bound: Vec::new(),
        });
        let stretch = &mut submitter.stretch;
        let is_behind_other = submitter.other_end_ns > stretch.end_ns || ends_stretch(seen);
        if is_behind_other || call.start_ns.saturating_sub(stretch.end_ns) > LONGEST_BREAK_NS {
            let next = Stretch { start_ns: call.start_ns, ..Stretch::default() };
            let last = std::mem::replace(stretch, next);
            submitter.launch_bound.extend(Some(last).filter(Stretch::is_launch_bound));
        } else if let Some(pause) = self.pauses.ended_by(call) {
            let since_start_ns = (pause.from_ns + pause.ns).saturating_sub(stretch.start_ns);
            stretch.idle_ns += pause.ns.min(since_start_ns);
        }
        stretch.pieces += 1;
        stretch.end_ns = seen.exit.end_ns;
        *stretch.places.entry(key(seen)).or_default() += 1;
        self.sites.entry(key(seen)).or_insert_with(|| Site::of(seen));
    }

    fn findings(&self, _: u64) -> Vec<Finding> {
        self.threads.values().filter_map(|submitter| self.finding(submitter)).collect()
    }
}

impl LaunchBound {
    fn finding(&self, submitter: &Submitter) -> Option<Finding> {
        let last = Some(&submitter.stretch).filter(|stretch| stretch.is_launch_bound());
        let stretches: Vec<&Stretch> = submitter.launch_bound.iter().chain(last).collect();
        let longest = stretches.iter().max_by_key(|stretch| stretch.ns())?;
        let (mut idle_ns, mut whole_ns, mut pieces) = (0, 0, 0);
        let (mut places, mut names) = (BTreeMap::<Key, u64>::new(), BTreeMap::<&str, u64>::new());
        for stretch in &stretches {
            idle_ns += stretch.idle_ns;
            whole_ns += stretch.ns();
            pieces += stretch.pieces;
            for (key, count) in &stretch.places {
                *places.entry(*key).or_default() += count;
                let outermost = self.sites.get(key).and_then(|site| site.path().first());
                outermost.into_iter().for_each(|name| *names.entry(name).or_default() += count);
            }
        }
        let site = self.sites.get(places.iter().max_by_key(|(_, count)| **count)?.0)?;
        let mut names: Vec<(&str, u64)> = names.into_iter().collect();
        names.sort_by_key(|(_, count)| Reverse(*count));
        let named: Vec<String> = names.iter().take(NAMED).map(|(name, count)| format!("{name} ({count})")).collect();
        let number = match stretches.len() {
            1 => "1 stretch".to_owned(),
            n => format!("{n} stretches"),
        };
        let after = longest.start_ns.saturating_sub(submitter.thread.process.start_ns);
        let (longest, after) = (time(longest.ns()), time(after));
        let part = percent(idle_ns, whole_ns);
        Some(Finding {
            title: format!("Launch-bound: {}", site.path().last().map_or("?", String::as_str)),
            cost_ns: idle_ns,
            rank: Rank::Slow,
            evidence: vec![
                format!(
                    "the GPU was idle for {} of {} ({part}), while the host only submitted",
                    time(idle_ns),
                    time(whole_ns)
                ),
                format!("{number} of thread {}; the longest: {longest}, {after} after the start", submitter.thread.tid),
                format!("{pieces} pieces of work, mostly by {}", named.join(" and ")),
            ],
            site: site.clone(),
            advice: "Capture the launches in a CUDA graph, fuse the kernels (torch.compile), or give each more to do.",
            other_places: (0, 0),
            times: 1,
        })
    }
}
