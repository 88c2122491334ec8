//! What a reader was given: one run, or several that are read together. What is said of them, and whether they were
//! read whole.

use crate::args::InputArgs;
use crate::cmd::ctl;
use crate::input::{NOTES, readable, whole};
use cutap_collect::{Error, Page, Result, filter, output_file, print_notice};
use cutap_report::{CallTree, important_notes, notes_of_runs};
use cutap_trace::{End, FinishedRun, RunPath, Runs, TimeWindow};
use cutap_wire::control;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

impl InputArgs {
    /// Whether a run was given by the number of its process: the program runs on.
    pub fn names_process(&self) -> bool {
        self.runs.iter().any(|run| process_number(run).is_some())
    }

    /// Whether one of the runs has GPU times. One that cannot be read has none.
    pub fn has_gpu_time(&self) -> bool {
        let has = |run: &PathBuf| Runs::open(std::slice::from_ref(run)).and_then(|runs| runs.have_gpu_time());
        self.runs.iter().any(|run| has(run).unwrap_or(false))
    }

    /// The files and folders of the runs.
    pub fn paths(&self) -> Result<Vec<PathBuf>> {
        self.runs.iter().map(|run| of_pid(run)).collect()
    }

    /// The runs, if all of them can be read.
    pub fn open(&self) -> Result<Runs> {
        let paths = self.paths()?;
        paths.iter().try_for_each(|run| readable(run))?;
        let runs = Runs::open(&paths)?;
        let rest = runs.of_other_clocks();
        if !rest.is_empty() {
            let names: Vec<String> = rest.iter().map(|name| name.to_string()).collect();
            print_notice(&format!(
                "{} ran on another host than the first run, or since another start: times are aligned by the wall \
                 clocks of the hosts, and are as exact as these",
                names.join(", ")
            ));
        }
        Ok(runs)
    }
}

/// Bytes of a path at most.
const MOST_PATH: usize = 4096;

/// A number that is no file is that of a process.
fn process_number(run: &Path) -> Option<&str> {
    run.to_str().filter(|text| text.parse::<u32>().is_ok() && !run.exists())
}

/// Whether a run is given by the number of its process.
pub fn names_process(run: &Path) -> bool {
    process_number(run).is_some()
}

/// The run of a process: its recording, or its run directory.
pub fn of_pid(run: &Path) -> Result<PathBuf> {
    let Some(number) = process_number(run) else { return Ok(run.to_owned()) };
    let folder = ctl::run_of(number)?;
    if Page::open(&folder).is_ok_and(|page| page.is_flight_recorder()) {
        print_notice(&format!("a flight recorder holds its newest calls: cutap ctl {number} dump -o FILE writes them"));
    }
    // What is recorded leaves the run directory soon.
    let recording = RunPath::open(&folder).and_then(|held| held.join(control::RECORDING).read(MOST_PATH));
    let recording = recording.ok().map(|path| PathBuf::from(OsString::from_vec(path)));
    Ok(recording.filter(|path| output_file::is_locked(path)).unwrap_or(folder))
}

/// The file is, or would be, one of those in the folder.
pub fn inside(run: &Path, output: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    let folder = output.parent().map(|p| if p.as_os_str().is_empty() { Path::new(".") } else { p });
    let there = real(output).or_else(|| real(folder?));
    run.is_dir() && real(run).zip(there).is_some_and(|(run, there)| there.starts_with(run))
}

/// The names of runs, for the command line of another command.
pub fn named(runs: &Runs) -> String {
    let names: Vec<String> = runs.paths().iter().map(|path| path.display().to_string()).collect();
    names.join(" ")
}

fn end_refs(run_ends: &[FinishedRun]) -> Vec<&End> {
    run_ends.iter().map(|of| &of.end).collect()
}

/// Says what an answer lacks: the most important notes, and the number of the rest.
pub fn say_notes(runs: &Runs, run_ends: &[FinishedRun]) {
    let important = notes_of_runs(&end_refs(run_ends), &|end| important_notes(end).0);
    important.iter().take(NOTES).for_each(|note| print_notice(note));
    let rest: usize = run_ends.iter().map(|of| important_notes(&of.end).1).sum();
    let rest = rest + important.len().saturating_sub(NOTES);
    if rest > 0 {
        let notes = if rest == 1 { "1 note" } else { &format!("{rest} notes") };
        let (run, lacks) = if run_ends.len() == 1 { ("run", "lacks") } else { ("runs", "lack") };
        print_notice(&format!("{notes} on calls that the {run} {lacks}: cutap report --notes {}", named(runs)));
    }
}

/// Fails if a part of the time was asked for in which no call is.
pub fn some_call_in_window(runs: &Runs, window: Option<TimeWindow>) -> Result<()> {
    let Some(window) = window else { return Ok(()) };
    let mut calls = CallTree::default();
    runs.calls(&filter(None)?.during(Some(window)), &mut calls)?;
    match calls.totals().0 {
        0 => Err(Error::own(
            "no call is between --from and --to, which count from the start of the run; give other times",
        )),
        _ => Ok(()),
    }
}

/// Says which calls the filter of the run left out: the reader by default, or the target.
pub fn say_filter_of_run(run_ends: &[FinishedRun]) {
    filter_lines_of_runs(run_ends).iter().for_each(|line| print_notice(line));
}

/// The lines of [`say_filter_of_run`].
pub fn filter_lines_of_runs(run_ends: &[FinishedRun]) -> Vec<String> {
    notes_of_runs(&end_refs(run_ends), &|end| {
        let filtered = end.filtered.as_ref().filter(|f| f.is_kept && f.filtered_out > 0);
        let absent = end.coverage.filter.as_ref().filter(|_| filtered.is_none());
        let absent = absent.map(|text| format!("recorded with -e {text}: other calls are not in the file"));
        let line = filtered.map(|filtered| {
            let (text, more) = (&filtered.text, filtered.filtered_out);
            let more = if more == 1 { "1 more call".to_owned() } else { format!("{more} more calls") };
            format!("the run was made with the filter {text}, so only these calls are here; -a adds {more} of the run")
        });
        line.into_iter().chain(absent).collect()
    })
}

/// Says where the calls are that were only counted: their number is all that is known.
pub fn say_counted(runs: &Runs, run_ends: &[FinishedRun]) {
    let calls: u64 = run_ends.iter().flat_map(|of| &of.end.functions.counted).map(|counted| counted.calls).sum();
    if calls > 0 {
        let run = named(runs);
        let (were, their) = if calls == 1 { ("call was", "its number") } else { ("calls were", "their numbers") };
        print_notice(&format!(
            "{calls} {were} only counted (-C, --chatter=count): cutap report {run} or show -C {run} has {their}"
        ));
    }
}

/// Says that the table has calls without times.
pub fn say_without_times(run_ends: &[FinishedRun]) {
    let of_chatter = run_ends.iter().filter(|of| of.end.settings.counts_chatter);
    let calls: u64 = of_chatter.flat_map(|of| &of.end.functions.counted).map(|counted| counted.calls).sum();
    match calls {
        0 => {}
        1 => print_notice("1 call was only counted (--chatter=count): no time has it"),
        _ => print_notice(&format!("{calls} calls were only counted (--chatter=count): times are those of the others")),
    }
}

/// Whether all of them could be read whole. The last one that could not is the error, and rest are said.
pub fn all_whole(run_ends: &[FinishedRun]) -> Result<()> {
    let mut all_read = Ok(());
    for FinishedRun { path, end } in run_ends {
        let of_run = whole(path, end);
        if of_run.is_err()
            && let Err(before) = std::mem::replace(&mut all_read, of_run)
        {
            print_notice(&before.to_string());
        }
    }
    all_read
}
