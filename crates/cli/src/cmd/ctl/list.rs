//! A plain `cutap ctl`: the running programs that can be switched.

use super::per_process_control;
use super::status::state_of;
use super::target::running;
use cutap_collect::Page;
use cutap_printable::printable;
use std::fmt::Write;
use std::path::Path;

/// A table of them, or a sentence.
pub fn list() -> String {
    let mut text = String::new();
    for (pid, run) in running() {
        let Ok(page) = Page::open(&run) else { continue };
        if text.is_empty() {
            text.push_str("    PID  RECORDING                       RUN DIRECTORY                   PROGRAM\n");
        }
        let own = page.own_pages();
        let own = per_process_control::find(&own, pid).into_iter().next();
        let state = state_of(own.unwrap_or(&page)).split(':').next().unwrap_or("?");
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "{pid:>7}  {state:<31}  {:<30}  {}",
            printable(&run.to_string_lossy()),
            printable(&command(pid))
        );
    }
    if text.is_empty() {
        text.push_str("no program runs under cutap; start one with cutap record or cutap trace\n");
    } else {
        text.push_str("switch one with: cutap ctl PID on, off, filter FILTER, status\n");
    }
    text
}

/// The words with which a process was started.
fn command(pid: u32) -> String {
    let words = std::fs::read(Path::new("/proc").join(pid.to_string()).join("cmdline")).unwrap_or_default();
    let text = String::from_utf8_lossy(&words).replace('\0', " ");
    let text = text.trim_end();
    match text.char_indices().nth(60) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or(text)),
        None => text.to_owned(),
    }
}
