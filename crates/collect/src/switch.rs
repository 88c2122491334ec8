//! `cutap ctl PID on`, `off`, `filter`, `status`: switches what was armed when the program fetched its functions, through words and
//! flags in the run folder. Nothing is sent to the program, no right over it is needed but that to its run folder, and it takes
//! no notice before its next call. What was not armed cannot be armed any more: pointers are fetched once.

use crate::control::Page;
use crate::ctl::run_of;
use crate::error::{Error, Result, cannot};
use crate::filter::filter;
use cutap_wire::control::{
    COLLECTOR_ATTACHED, COLLECTOR_NEVER, COUNT, RANGE, RECORDING_COUNT, RECORDING_OFF, RECORDING_ON,
};
use cutap_wire::flags::{ALWAYS, ARMED, CALLBACKS, FILE, FOLLOWS, INSTANCE_BYTES, NEVER};
use std::fmt::Write;
use std::fs::OpenOptions;
use std::io::ErrorKind;
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

/// Switches the run of a process, or the run of a folder; what to say about it.
pub fn switch(who: &str, what: &Switch) -> Result<String> {
    let run = run_of(who)?;
    let page = Page::open(&run)?;
    if !page.is_a_run() {
        let run = run.display();
        return Err(Error::own(format!(
            "{run} is not the folder of a run of this version of cutap; use the cutap that started the program"
        )));
    }
    let shown = run.display();
    match what {
        Switch::Status => Ok(status(&run, &page)),
        Switch::Off => {
            let state = match page.recording() {
                RECORDING_ON | RECORDING_COUNT => RECORDING_OFF,
                state => state,
            };
            page.set_recording(state);
            flags(&run, false, false)?;
            Ok(format!("off in {shown}: calls pass and are not seen; cutap ctl {who} on switches them on again\n"))
        }
        Switch::On => {
            let (state, doing) = match page.flags() & COUNT {
                0 => (RECORDING_ON, "recorded"),
                _ => (RECORDING_COUNT, "counted"),
            };
            if !matches!(page.recording(), RECORDING_OFF | RECORDING_ON | RECORDING_COUNT) {
                return Err(Error::own(format!(
                    "{shown} cannot be switched on: what is recorded can no longer be written; start the program again"
                )));
            }
            page.set_recording(state);
            flags(&run, true, false)?;
            let range = match page.flags() & RANGE {
                0 => "",
                _ => " between cuProfilerStart and cuProfilerStop",
            };
            Ok(format!("on in {shown}: what was armed is {doing}{range}\n"))
        }
        Switch::Filter(text) => {
            let all = text.trim() == "all";
            let parsed = if all { None } else { Some(text.as_str()) };
            page.set_rules(filter(parsed)?.rules())?;
            flags(&run, page.recording() != RECORDING_OFF, true)?;
            Ok(format!(
                "the filter of {shown} is now {text:?}; functions that were not armed when the program fetched their pointers stay unseen\n"
            ))
        }
    }
}

/// Folders of the processes of a run.
fn processes(run: &Path) -> Vec<PathBuf> {
    let is_process = |p: &Path| p.file_name().is_some_and(|n| n.as_bytes().starts_with(b"p")) && p.is_dir();
    let entries = std::fs::read_dir(run).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries.map(|e| e.path()).filter(|p| is_process(p)).collect();
    found.sort();
    found
}

/// Sets the flags that runtimes look at themselves; with `again`, also of functions that a filter left out, so that they are
/// looked at anew.
fn flags(run: &Path, on: bool, again: bool) -> Result<()> {
    for path in processes(run).into_iter().map(|p| p.join(FILE)) {
        let file = match OpenOptions::new().read(true).write(true).open(&path) {
            Err(e) if e.kind() == ErrorKind::NotFound => continue,
            file => file.map_err(|e| cannot("switch runtimes in", &path, &e, "run cutap ctl as the program's user"))?,
        };
        let mut armed = [0; CALLBACKS];
        for at in (0..).map(|n: u64| n * INSTANCE_BYTES as u64) {
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
            file.write_all_at(&words, at).map_err(|e| cannot("switch runtimes in", &path, &e, "try again"))?;
        }
    }
    Ok(())
}

fn status(run: &Path, page: &Page) -> String {
    let state = match page.recording() {
        RECORDING_OFF => "off: calls pass and are not seen",
        RECORDING_ON => "on: what was armed is recorded",
        RECORDING_COUNT => "on: what was armed is counted",
        _ => "broken: what is recorded can no longer be written",
    };
    let collector = match page.collector_state() {
        COLLECTOR_ATTACHED => "attached",
        COLLECTOR_NEVER => "none so far: calls stay in the run folder",
        _ => "has left",
    };
    let mut text = format!("run folder: {}\nrecording: {state}\n", run.display());
    if page.flags() & RANGE != 0 {
        text += "range: between cuProfilerStart and cuProfilerStop, in each process for itself\n";
    }
    let rules = page.rules();
    let rules: Vec<&str> = rules.lines().collect();
    let _ = match rules.is_empty() {
        true => writeln!(text, "filter: all functions"),
        false => writeln!(text, "filter: {}", rules.join("; ")),
    };
    let _ = writeln!(text, "collector: {collector}");
    for process in processes(run) {
        let name = process.file_name().unwrap_or_default().to_string_lossy();
        let pid = name.trim_start_matches('p').split('-').next().unwrap_or("?");
        let lives = Path::new("/proc").join(pid).exists();
        let _ = writeln!(text, "process: {pid} ({})", if lives { "running" } else { "ended" });
    }
    text
}
