//! `cutap ctl PID status`: what is recorded, with which filter, of which processes, and in which call each of their
//! threads is.

use super::target::Target;
use super::threads::Threads;
use super::{gpu_time, per_process_control};
use cutap_calls::Layer;
use cutap_collect::{Page, ahead};
use cutap_printable::printable;
use cutap_trace::living;
use cutap_wire::control::{
    CAPTURE_RANGE, COLLECTOR_ATTACHED, COLLECTOR_NEVER, RANGE, RANGE_OF_NVTX, RECORDING_COUNT, RECORDING_OFF,
    RECORDING_ON,
};
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Folders of the processes of a run.
fn processes(run: &Path) -> Vec<PathBuf> {
    let is_process = |p: &Path| p.file_name().is_some_and(|n| n.as_bytes().starts_with(b"p")) && p.is_dir();
    let entries = std::fs::read_dir(run).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|e| e.path()).filter(|p| is_process(p)).collect();
    paths.sort();
    paths
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

pub fn state_of(page: &Page) -> &'static str {
    match page.recording() {
        RECORDING_OFF => "off: calls pass and are not shown",
        RECORDING_ON => "on: calls are recorded",
        RECORDING_COUNT => "on: calls are counted",
        _ => "broken: what is recorded can no longer be written",
    }
}

/// `NAME@DOMAIN` of the file that the target reads.
fn capture_range_text(file: &str) -> String {
    let mut lines = file.lines();
    let (name, domain) = (lines.next().unwrap_or_default(), lines.next().unwrap_or("*"));
    let domain = if domain == "*" { String::new() } else { format!("@{domain}") };
    printable(&format!("{name}{domain}")).into_owned()
}

/// The state of one process; or that of the run, with each process whose state differs.
pub fn status(target: &Target) -> String {
    let Target { run, page, pid } = target;
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
        let range = match page.flags() & RANGE_OF_NVTX {
            0 => "between cuProfilerStart and cuProfilerStop".to_owned(),
            _ => match std::fs::read_to_string(run.join(CAPTURE_RANGE)) {
                Ok(range) => format!("while a range of NVTX is open: {}", capture_range_text(&range)),
                Err(_) => "while a range of NVTX is open".to_owned(),
            },
        };
        let _ = writeln!(text, "range: {range}, in each process for itself");
    }
    if let Some(state) = gpu_time::state_of(page, one) {
        let _ = writeln!(text, "GPU times: {state}");
    }
    let _ = writeln!(text, "filter: {filter}\ncollector: {collector}");
    if page.is_flight_recorder() {
        let target = pid.map_or_else(|| "PID".to_owned(), |pid| pid.to_string());
        let _ = writeln!(text, "flight recorder: holds the newest calls; cutap ctl {target} dump -o FILE writes them");
    }
    let run = std::fs::canonicalize(run).unwrap_or_else(|_| run.clone());
    let living = living_of(&run);
    let threads = Threads::of(&run);
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
                let gpu_time = own.and_then(|own| gpu_time::state_of(page, Some(own)));
                let other_gpu_time = gpu_time.filter(|state| Some(*state) != gpu_time::state_of(page, None));
                let gpu_times = other_gpu_time.map_or_else(String::new, |state| format!("; GPU times: {state}"));
                let threads = threads.lines(&name, *pid, ahead(*pid));
                let differs = differs.unwrap_or_default();
                write!(text, "process: {pid} ({own_number}running){differs}{gpu_times}\n{threads}")
            }
            None if number.parse().is_ok_and(hides) => {
                writeln!(text, "process: {number} (running, or another has its number)")
            }
            None => writeln!(text, "process: {number} (ended)"),
        };
    }
    text
}

/// The layer of a rule, if the rule is for one layer.
fn of_letter(letter: &str) -> Option<Layer> {
    letter.bytes().next().and_then(Layer::of_letter)
}

/// Rules of a control page as the text that they came from.
fn text_of(rules: &str) -> String {
    let mut terms: Vec<String> = Vec::new();
    for (rule, next) in
        rules.lines().filter(|line| !line.starts_with('~')).filter_map(|line| Some((line, line.split_at_checked(1)?.1)))
    {
        let not = if rule.starts_with('-') { "!" } else { "" };
        let mut words = next.split(' ');
        let (layer, library, name) = (words.next(), words.next().unwrap_or("*"), words.next().unwrap_or("*"));
        // A library is meant with each form of its file name, a function with each of its versions.
        let stem = library.strip_suffix(".so*").map(|l| l.trim_end_matches("-*").trim_end_matches(".alt"));
        let term = match (layer, stem.unwrap_or(library), name) {
            (Some(layer), "*", "*") if let Some(layer) = of_letter(layer) => layer.name().to_owned(),
            (_, "*", name) => name.to_owned(),
            (_, library, "*") => library.to_owned(),
            (_, library, name) => format!("{library}:{name}"),
        };
        let term = format!("{not}{term}");
        if terms.last().is_none_or(|last| *last != term && format!("{last}_*") != term) {
            terms.push(term);
        }
    }
    if terms.is_empty() { "all functions".to_owned() } else { terms.join(",") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutap_collect::filter;

    #[test]
    fn rules_are_told_as_they_were_given() {
        for text in [
            "cuCtx*",
            "driver,!cuCtx*",
            "cuMemAlloc,runtime",
            "!library",
            "libcublas:cublasSgemm*",
            "libnvrtc",
            "my-app.bin:*",
        ] {
            let rules = filter(Some(text)).unwrap().rules().to_owned();
            let told = text_of(&rules);
            assert_eq!(told, text.trim_end_matches(":*"), "{rules}");
            assert_eq!(filter(Some(text)).unwrap().rules(), rules);
        }
        assert_eq!(text_of(filter(None).unwrap().rules()), "all functions");
    }
}
