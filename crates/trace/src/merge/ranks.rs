//! The rank of each run: what it was recorded as, or else what the name of its file says.

use crate::io::clock::Clock;
use crate::run::process_dir::ProcessDir;
use crate::run::run_reader::RunReader;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The ranks of runs that are given together.
pub(super) fn ranks(paths: &[PathBuf], opened: &[RunReader]) -> Vec<Option<u32>> {
    let named = |(path, run): (&PathBuf, &RunReader)| run.rank().or_else(|| rank_of(path));
    let mut ranks: Vec<Option<u32>> = paths.iter().zip(opened).map(named).collect();
    let mut sets: BTreeMap<(Option<&Path>, &str), Vec<NumberedRun>> = BTreeMap::new();
    for (n, path) in paths.iter().enumerate().filter(|(n, _)| ranks[*n].is_none()) {
        if let Some((before, number)) = numbered(path) {
            sets.entry((path.parent(), before)).or_default().push((number, n));
        }
    }
    for mut set in sets.into_values() {
        set.sort_unstable();
        let are_from_0 = set.iter().enumerate().all(|(n, (number, _))| *number as usize == n);
        if set.len() > 1 && are_from_0 && are_one_job(set.iter().map(|(_, n)| &opened[*n])) {
            set.iter().for_each(|(number, n)| ranks[*n] = Some(*number));
        }
    }
    ranks
}

/// The rank of a run that keeps none, by a name such as `run.3.cutap`, `rank3.cutap` or `job-rank-3`. Another number
/// may be a part of any name.
pub(super) fn rank_of(path: &Path) -> Option<u32> {
    let (before, digits) = parts(path)?;
    let is_rank = before == "run." || before.trim_end_matches(SEPARATORS).ends_with("rank");
    digits.parse().ok().filter(|_| is_rank)
}

/// The number in the name, and the place among all runs.
type NumberedRun = (u32, usize);

const SEPARATORS: [char; 3] = ['.', '-', '_'];

/// What is before the number at the end of a name, and the digits.
fn parts(path: &Path) -> Option<(&str, &str)> {
    let name = path.file_name()?.to_str()?;
    let name = name.strip_suffix(".cutap").unwrap_or(name);
    let before = name.trim_end_matches(|c: char| c.is_ascii_digit());
    Some((before, &name[before.len()..]))
}

/// The number of `job.3.cutap` and what is before it. `resnet50` has none.
fn numbered(path: &Path) -> Option<(&str, u32)> {
    let (before, digits) = parts(path)?;
    let is_apart = before.len() > 1 && before.ends_with(SEPARATORS);
    let is_plain = digits == "0" || !digits.starts_with('0');
    Some((before, digits.parse().ok().filter(|_| is_apart && is_plain)?))
}

/// Whether all of these ran at one moment, and no process is in two of them: recordings that were made one after the
/// other, and copies, are no ranks.
fn are_one_job<'r>(runs: impl Iterator<Item = &'r RunReader>) -> bool {
    let Some(spans) = runs.map(Span::of).collect::<Option<Vec<_>>>() else { return false };
    let (last_start, first_end) = (spans.iter().map(|of| of.start).max(), spans.iter().map(|of| of.end).min());
    let are_different = spans.iter().enumerate().all(|(n, of)| spans[..n].iter().all(|other| of.first != other.first));
    are_different && last_start < first_end
}

/// When a run was made, in nanoseconds of the wall clock.
struct Span {
    /// Which start of which host, the process id, and its start: no other process has these.
    first: (Option<String>, u32, u64),
    start: u64,
    end: u64,
}

impl Span {
    /// That of a run with a process and a collector.
    fn of(run: &RunReader) -> Option<Span> {
        let names = run.store.processes().unwrap_or_default();
        let dirs = names.iter().filter_map(|name| ProcessDir::open(&run.store, name, &mut Clock::default()));
        let first = dirs.min_by_key(|dir| dir.process.start_ns)?.process.clone();
        let lasted = run.watched_until().checked_sub(first.start_ns)?;
        let start = first.start_realtime_ns;
        Some(Span { first: (run.host().boot_id, first.pid, start), start, end: start.checked_add(lasted)? })
    }
}
