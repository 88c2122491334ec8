//! `cutap ctl PID on`, `off`, `filter`, `status`: switches what was armed when the program fetched its functions, through words and
//! flags in the run directory. Nothing is sent to the program, no right over it is needed but that to its run directory, and it takes
//! no notice before its next call. What was not armed cannot be armed any more: pointers are fetched once.

use crate::control::{Page, ahead, fits};
use crate::ctl::run_of;
use crate::error::{Error, Result, cannot};
use crate::filter::{filter, text_of};
use crate::lingering::Outliving;
use crate::per_process_control;
use cutap_printable::printable;
use cutap_trace::{Filter, living};
use cutap_wire::control::{
    COLLECTOR_ATTACHED, COLLECTOR_GONE, COLLECTOR_NEVER, COUNT, RANGE, RECORDING_COUNT, RECORDING_OFF, RECORDING_ON,
    RULES_ALL, RULES_CHANGED,
};
use cutap_wire::flags::{ALWAYS, ARMED, CALLBACKS, FIRST, FOLLOWS, INSTANCE_BYTES, NEVER};
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// What is to be switched.
#[derive(Debug)]
pub enum Switch {
    /// Record, or count, what is armed.
    On,
    /// Let calls pass.
    Off,
    /// Record only these of what is armed.
    Filter(String),
    /// Say how it stands.
    Status,
}

/// Switches a process, or with `all`, or by the folder, all of a run; what to say about it.
pub fn switch(who: &str, all: bool, what: &Switch) -> Result<String> {
    let run = run_of(who)?;
    let page = Page::open(&run)?;
    if !page.is_a_run() {
        let run = run.display();
        return Err(Error::own(format!(
            "{run} is not the folder of a run of this version of cutap; use the cutap that started the program"
        )));
    }
    let pid = who.parse().ok().filter(|_| !all);
    let filtered = match what {
        Switch::Status => return Ok(status(&run, &page, pid)),
        Switch::Filter(text) => {
            let parsed = filter(Some(text.as_str()).filter(|t| t.trim() != "all"))?;
            refused(text, &parsed)?;
            fits(parsed.rules())?;
            Some(parsed)
        }
        Switch::On | Switch::Off => None,
    };
    // Of one that nobody drains, more programs may be started.
    if pid.is_none() && page.collector_state() == COLLECTOR_GONE && Outliving::new(&run).none() {
        let run = run.display();
        return Err(Error::own(format!(
            "nothing can be switched in {run}: its program has ended; cutap show {run} prints what is there"
        )));
    }
    let (shown, again) = match (pid, all) {
        (Some(pid), _) => (format!("process {pid} of {}", run.display()), format!("cutap ctl {who}")),
        (None, true) => (run.display().to_string(), format!("cutap ctl --all {who}")),
        (None, false) => (run.display().to_string(), format!("cutap ctl {who}")),
    };
    // The run's first: what takes its own page meanwhile begins as that, and all others have one by now.
    let (pages, own) = match pid {
        Some(pid) => per_process_control::pages(&page, pid)?,
        None => (vec![Page::open(&run)?].into_iter().chain(page.own_pages()).collect(), 0),
    };
    let own = (own, pid.map_or(0, ahead));
    match (what, filtered) {
        (Switch::Filter(text), Some(filter)) => {
            for one in each(pages, pid, &page) {
                one.put_rules(filter.rules());
                flags(&one, one.recording() != RECORDING_OFF, true)?;
            }
            page.note(if filter.rules().is_empty() { RULES_ALL } else { RULES_CHANGED }, own);
            Ok(format!(
                "the filter of {shown} is now {text:?}; functions that were not armed when the program fetched their pointers stay unseen\n"
            ))
        }
        (Switch::On, _) => {
            let (state, doing) = match page.flags() & COUNT {
                0 => (RECORDING_ON, "recorded"),
                _ => (RECORDING_COUNT, "counted"),
            };
            if !matches!(page.recording(), RECORDING_OFF | RECORDING_ON | RECORDING_COUNT) {
                return Err(Error::own(format!(
                    "{shown} cannot be switched on: what is recorded can no longer be written; start the program again"
                )));
            }
            put(each(pages, pid, &page), state, &page, own)?;
            let range = match page.flags() & RANGE {
                0 => "",
                _ => " between cuProfilerStart and cuProfilerStop",
            };
            Ok(format!("on in {shown}: what was armed is {doing}{range}\n"))
        }
        _ => {
            put(each(pages, pid, &page), RECORDING_OFF, &page, own)?;
            Ok(format!("off in {shown}: calls pass and are not seen; {again} on switches them on again\n"))
        }
    }
}

/// Refuses what a program cannot decide by a function's name: it would be left away without a word.
fn refused(text: &str, of: &Filter) -> Result<()> {
    let why = if of.asks_calls() {
        "what is recorded is chosen by name before any call is made; take names, layers and libraries here, and conditions at show -e"
    } else if of.wants_lookups() || of.wants_cxx() {
        "look-ups and C++ functions are chosen at the start alone; take names, layers and libraries here, and lookup or cxx at -e"
    } else {
        return Ok(());
    };
    Err(Error::own(format!("filter {text}: {why}")))
}

/// The pages one after the other; of a whole run also those that are made while the first ones are written.
fn each<'a>(pages: Vec<Page>, pid: Option<u32>, run: &'a Page) -> impl Iterator<Item = Page> + 'a {
    let there = pages.len();
    let late = move || match pid {
        None => run.own_pages().into_iter().skip(there.saturating_sub(1)).collect(),
        Some(_) => Vec::new(),
    };
    pages.into_iter().chain(std::iter::once_with(late).flatten())
}

/// Switches these to a state; what is broken stays so.
fn put(pages: impl Iterator<Item = Page>, state: u32, run: &Page, own: (u32, i64)) -> Result<()> {
    let mut noted = false;
    for page in pages {
        let before = page.recording();
        if !matches!(before, RECORDING_OFF | RECORDING_ON | RECORDING_COUNT) {
            continue;
        }
        if before != state && !noted {
            run.note(state, own);
            noted = true;
        }
        page.put_recording(state);
        flags(&page, state != RECORDING_OFF, false)?;
    }
    Ok(())
}

/// Folders of the processes of a run.
fn processes(run: &Path) -> Vec<PathBuf> {
    let is_process = |p: &Path| p.file_name().is_some_and(|n| n.as_bytes().starts_with(b"p")) && p.is_dir();
    let entries = std::fs::read_dir(run).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries.map(|e| e.path()).filter(|p| is_process(p)).collect();
    found.sort();
    found
}

/// Sets the flags that a process's runtimes look at themselves; with `again`, also of functions that a filter left out, so that they
/// are looked at anew.
fn flags(own: &Page, on: bool, again: bool) -> Result<()> {
    let file = own.file();
    let mut armed = [0; CALLBACKS];
    for at in (0..).map(|n: u64| FIRST as u64 + n * INSTANCE_BYTES as u64) {
        if file.read_exact_at(&mut armed, at + ARMED as u64).is_err() {
            break;
        }
        if again {
            armed.iter_mut().filter(|a| **a == NEVER).for_each(|a| *a = FOLLOWS);
            // An instance that is not there yet writes its own.
            let _ = file.write_all_at(&armed, at + ARMED as u64);
        }
        let flag = |armed: &u8| u32::from(*armed == ALWAYS || *armed == FOLLOWS && on).to_le_bytes();
        let words: Vec<u8> = armed.iter().flat_map(flag).collect();
        file.write_all_at(&words, at).map_err(|e| cannot("switch runtimes in", own.path(), &e, "try again"))?;
    }
    Ok(())
}

/// The processes that have something of a run mapped, with what they have mapped.
fn living_of(run: &Path) -> Vec<(u32, String)> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|e| e.file_name().into_string().ok()?.parse().ok());
    let maps = |pid: u32| -> Option<String> {
        let maps = std::fs::read(living(pid)?.join("maps")).ok()?;
        Some(String::from_utf8_lossy(&maps).into_owned())
    };
    let all = pids.filter_map(|pid| Some((pid, maps(pid)?)));
    all.filter(|(_, maps): &(u32, String)| maps.contains(&*run.to_string_lossy())).collect()
}

/// There is a process of this number into which we may not look.
fn hides(pid: u32) -> bool {
    living(pid).is_some_and(|folder| std::fs::read(folder.join("maps")).is_err())
}

fn state_of(page: &Page) -> &'static str {
    match page.recording() {
        RECORDING_OFF => "off: calls pass and are not seen",
        RECORDING_ON => "on: what was armed is recorded",
        RECORDING_COUNT => "on: what was armed is counted",
        _ => "broken: what is recorded can no longer be written",
    }
}

/// How it stands with the run, and with each process that it does not stand so with; or with one process.
fn status(run: &Path, page: &Page, pid: Option<u32>) -> String {
    let own = page.own_pages();
    let one = pid.and_then(|pid| per_process_control::find(&own, pid).into_iter().next());
    let (state, filter) =
        one.map_or_else(|| (state_of(page), text_of(&page.rules())), |p| (state_of(p), text_of(&p.rules())));
    let collector = match page.collector_state() {
        COLLECTOR_ATTACHED => "attached",
        COLLECTOR_NEVER => "none so far: calls stay in the run directory",
        _ => "has left",
    };
    let mut text = format!("run directory: {}\nrecording: {state}\n", printable(&run.to_string_lossy()));
    if page.flags() & RANGE != 0 {
        text += "range: between cuProfilerStart and cuProfilerStop, in each process for itself\n";
    }
    let _ = writeln!(text, "filter: {filter}\ncollector: {collector}");
    let run = std::fs::canonicalize(run).unwrap_or_else(|_| run.to_owned());
    let living = living_of(&run);
    for process in processes(&run) {
        let name = process.file_name().unwrap_or_default().to_string_lossy();
        let number = name.trim_start_matches('p').split('-').next().unwrap_or("?");
        let number = printable(number);
        let number = &*number;
        let mapped = format!("{}/", process.display());
        let _ = match living.iter().find(|(_, maps)| maps.contains(&mapped)) {
            Some((pid, _)) => {
                let own_number = match pid.to_string() == number {
                    true => String::new(),
                    false => format!("{number} in its name space, "),
                };
                let own = per_process_control::find(&own, *pid).into_iter().next();
                let differs = own.filter(|p| (state_of(p), p.rules()) != (state_of(page), page.rules()));
                let differs = differs.map(|p| format!("; {}; filter: {}", state_of(p), text_of(&p.rules())));
                writeln!(text, "process: {pid} ({own_number}running){}", differs.unwrap_or_default())
            }
            None if number.parse().is_ok_and(hides) => {
                writeln!(text, "process: {number} (running, or another has its number)")
            }
            None => writeln!(text, "process: {number} (ended)"),
        };
    }
    text
}
