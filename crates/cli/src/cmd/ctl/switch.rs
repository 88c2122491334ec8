//! `cutap ctl PID on`, `off`, `filter`: switches what was armed when the program fetched its functions, through words
//! and flags in the run directory. Nothing is sent to the program, and only access to its run directory is needed. The
//! program notices the change at its next call. Functions that were not armed cannot be armed any more, because
//! pointers are fetched once.

use super::per_process_control;
use super::target::Target;
use cutap_collect::{Error, LingeringProcesses, Page, Result, ahead, each_page, filter, fits, put_state, switch_flags};
use cutap_trace::{Filter, Layer, RunPath};
use cutap_wire::control::{
    ARMED, COLLECTOR_GONE, COUNT, RANGE, RANGE_OF_NVTX, RECORDING_COUNT, RECORDING_OFF, RECORDING_ON, RULES_ALL,
    RULES_BYTES, RULES_CHANGED,
};

use std::path::Path;

/// The new state.
pub enum Switch {
    /// Record, or count, what is armed.
    On,
    /// Let calls pass.
    Off,
    /// Record only these calls of what is armed.
    Filter(String),
}

/// What is switched.
pub struct Switching {
    /// For people.
    pub shown_as: String,
    /// The command up to what comes next.
    pub command_text: String,
    pub pages: Vec<Page>,
    /// The number of the one process as it sees itself; 0: all.
    pub own: u32,
}

impl Switching {
    /// `who` and `all` are the words with which the target was named.
    pub fn of(target: &Target, who: &str, all: bool) -> Result<Switching> {
        let Target { run, page, pid } = target;
        let pid = *pid;
        // The run of a whole environment may start more programs, also without a collector.
        if pid.is_none() && page.collector_state() == COLLECTOR_GONE && LingeringProcesses::new(run).are_gone() {
            let run = run.display();
            return Err(Error::own(format!(
                "nothing can be switched in {run}: its program has ended; cutap show {run} prints what is there"
            )));
        }
        let (shown_as, command_text) = match (pid, all) {
            (Some(pid), _) => (format!("process {pid} of {}", run.display()), format!("cutap ctl {who}")),
            (None, true) => (run.display().to_string(), format!("cutap ctl --all {who}")),
            (None, false) => (run.display().to_string(), format!("cutap ctl {who}")),
        };
        // The run's first: what takes its own page meanwhile begins as that, and all others have one by now.
        let (pages, own) = match pid {
            Some(pid) => per_process_control::pages(page, pid)?,
            None => (vec![Page::open(run)?].into_iter().chain(page.own_pages()).collect(), 0),
        };
        Ok(Switching { shown_as, command_text, pages, own })
    }
}

/// Switches the target; returns what to print about it. `who` and `all` are the words with which it was named.
pub fn switch(target: &Target, who: &str, all: bool, what: &Switch) -> Result<String> {
    let Target { run, page, pid } = target;
    let pid = *pid;
    let filtered = match what {
        Switch::Filter(text) => {
            let parsed = filter(Some(text.as_str()).filter(|t| t.trim() != "all"))?;
            refused(text, &parsed)?;
            not_armed(text, &parsed, run)?;
            fits(parsed.rules())?;
            Some(parsed)
        }
        Switch::On | Switch::Off => None,
    };
    let Switching { shown_as, command_text, pages, own } = Switching::of(target, who, all)?;
    let own = (own, pid.map_or(0, ahead));
    match (what, filtered) {
        (Switch::Filter(text), Some(filter)) => {
            for one in each_page(pages, pid, page) {
                one.put_rules(filter.rules());
                switch_flags(&one, one.recording() != RECORDING_OFF, true)?;
            }
            page.record_switch(if filter.rules().is_empty() { RULES_ALL } else { RULES_CHANGED }, own);
            Ok(format!(
                "the filter of {shown_as} is now {text:?}; functions that the filter at the start left out stay unseen\n"
            ))
        }
        (Switch::On, _) => {
            let (state, doing) = match page.flags() & COUNT {
                0 => (RECORDING_ON, "recorded"),
                _ => (RECORDING_COUNT, "counted"),
            };
            if !matches!(page.recording(), RECORDING_OFF | RECORDING_ON | RECORDING_COUNT) {
                return Err(Error::own(format!(
                    "{shown_as} cannot be switched on: no more can be written to the recording; start the program again"
                )));
            }
            put_state(each_page(pages, pid, page), state, page, own)?;
            let range = match page.flags() & (RANGE | RANGE_OF_NVTX) {
                0 => "",
                flags if flags & RANGE_OF_NVTX != 0 => " while the range of NVTX is open that --capture-range names",
                _ => " between cuProfilerStart and cuProfilerStop",
            };
            Ok(format!("on in {shown_as}: calls are {doing}{range}\n"))
        }
        _ => {
            put_state(each_page(pages, pid, page), RECORDING_OFF, page, own)?;
            Ok(format!("off in {shown_as}: calls pass and are not shown; {command_text} on switches them on again\n"))
        }
    }
}

/// Refuses a layer that is recorded only on request, if the run was started without it: its pointers are replaced when
/// they are handed out, and never later.
fn not_armed(text: &str, of: &Filter, run: &Path) -> Result<()> {
    // Without a filter there is no such file.
    let armed = RunPath::open(run).and_then(|run| run.join(ARMED).read(RULES_BYTES)).unwrap_or_default();
    let armed = String::from_utf8_lossy(&armed);
    let has = |rules: &str, layer: Layer| rules.lines().any(|rule| rule.starts_with(&format!("+{} ", layer.letter())));
    let missing = Layer::all().filter(|layer| layer.is_asked()).find(|l| has(of.rules(), *l) && !has(&armed, *l));
    missing.map_or(Ok(()), |layer| {
        let name = layer.name();
        Err(Error::own(format!(
            "filter {text}: this run was started without the layer {name}, and its pointers cannot be replaced \
             any more; start the program with -e {name}, and switch it then with cutap ctl PID off and on"
        )))
    })
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
