//! The output for a format, and whether it is coloured: on a terminal only, and not with NO_COLOR.

use crate::output::text_options::TextOptions;
use anstream::{AutoStream, ColorChoice};
use cutap_report::{Counts, Fold, Json, Output, Quiet, Summary, Text};
use cutap_trace::{Diagnostic, End, printable};
use cutap_wire::diagnostic::STATIC_TOOLKIT;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io::{BufWriter, IsTerminal, Write, stdout};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// How to print.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputFormat {
    /// One JSON object a line.
    pub json: bool,
    /// A summary of each function instead of each call.
    pub summary: bool,
    /// Nothing but what went wrong with hooks.
    pub only_hooks: bool,
    /// Only how often each function was called; calls are counted and not recorded.
    pub counts: bool,
    /// How lines of text are written.
    #[serde(default)]
    pub text: TextOptions,
}

impl OutputFormat {
    /// Lines come while the program runs.
    pub fn is_live(self) -> bool {
        !(self.summary || self.only_hooks || self.counts)
    }
}

/// The output of this form on standard output; with `resumes`, behind what another has written there.
pub fn output(form: OutputFormat, resumes: bool) -> Box<dyn Output> {
    output_to(form, resumes, Box::new(stdout()))
}

/// The same, on its way to standard output.
pub fn output_to(form: OutputFormat, resumes: bool, to: Box<dyn Write + Send>) -> Box<dyn Output> {
    let colour = form.text.is_coloured();
    let format = form.text.format();
    let out = BufWriter::with_capacity(1 << 16, to);
    if form.only_hooks {
        return Box::new(Quiet::new(out));
    }
    if form.counts {
        return Box::new(Counts::new(out, form.json, colour).with_notes(format.notes));
    }
    if form.summary {
        return Box::new(summary_to(form, out));
    }
    match form.json {
        false if resumes => Box::new(Text::new(out, colour).with_format(format).go_on()),
        false if format.fold => Box::new(Fold::new(Text::new(out, colour).with_format(format))),
        false => Box::new(Text::new(out, colour).with_format(format)),
        true => Box::new(Json::new(out)),
    }
}

/// The summary of this form on standard output.
pub fn summary(form: OutputFormat) -> Summary<impl Write + Send> {
    summary_to(form, BufWriter::new(stdout()))
}

fn summary_to<W: Write + Send>(form: OutputFormat, out: W) -> Summary<W> {
    match form.json {
        true => Summary::json(out),
        false => Summary::text(out, form.text.is_coloured()).with_notes(form.text.format().notes),
    }
}

/// Standard output becomes a pager's pipe, and the pager shows colours.
static COLOURS_OF_PAGER: AtomicBool = AtomicBool::new(false);
/// The pager's terminal, while standard output is its pipe: one more than its columns; 1 where these are unknown.
static TERMINAL_OF_PAGER: AtomicUsize = AtomicUsize::new(0);

/// Keeps what is known of the terminal before standard output becomes the pipe of a pager on it.
pub fn keep_terminal() {
    COLOURS_OF_PAGER.store(colour(), Ordering::Relaxed);
    if stdout().is_terminal() {
        TERMINAL_OF_PAGER.store(columns().unwrap_or(0) + 1, Ordering::Relaxed);
    }
}

/// Whether standard output takes colours.
pub fn colour() -> bool {
    COLOURS_OF_PAGER.load(Ordering::Relaxed) || AutoStream::choice(&stdout()) != ColorChoice::Never
}

/// Whether a person reads standard output on a terminal, also through a pager.
pub(crate) fn is_on_terminal() -> bool {
    TERMINAL_OF_PAGER.load(Ordering::Relaxed) > 0 || stdout().is_terminal()
}

/// Columns of the terminal on which standard output is read.
pub(crate) fn columns() -> Option<usize> {
    if let Some(columns) = TERMINAL_OF_PAGER.load(Ordering::Relaxed).checked_sub(1) {
        return Some(columns).filter(|columns| *columns > 0);
    }
    // SAFETY: fills a local structure.
    let size = unsafe {
        let mut size: libc::winsize = std::mem::zeroed();
        (libc::ioctl(1, libc::TIOCGWINSZ, &raw mut size) == 0).then_some(size)
    };
    // A serial line, or a terminal without a size, says 0.
    size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns >= 20)
}

/// Adds what only the programs' files can tell: toolkit libraries that were linked into them.
pub fn scan_executables(end: &mut End) {
    let mut scanned = BTreeSet::new();
    for process in &end.processes.all {
        if scanned.insert(process.exe.clone()) {
            end.diagnostics.gaps.extend(cutap_inspect::static_toolkits(Path::new(&*process.exe)).into_iter().map(
                |name| Diagnostic {
                    reason: STATIC_TOOLKIT,
                    pid: process.pid,
                    name,
                    detail: format!("in {}", printable(&process.exe)),
                },
            ));
        }
    }
}
