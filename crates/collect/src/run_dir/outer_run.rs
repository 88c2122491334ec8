//! Two warnings on standard error: a run saw no call and its output is a file; or cutap runs inside another cutap,
//! whose run then sees no call. Neither changes an exit code.

use crate::base::error::print_notice;
use crate::run_dir::control::Page;
use cutap_report::unseen_lines;
use cutap_trace::{overview, printable};
use cutap_wire::control::{COLLECTOR_ATTACHED, COLLECTOR_NEVER};
use std::path::{Path, PathBuf};

/// The lines of a run that saw no call, by its folder; none if that is gone.
pub fn no_call_notes(run: &Path) -> Vec<String> {
    overview(run).map(|end| unseen_lines(&end)).unwrap_or_default()
}

/// Whether a thread of the run, or of a recording, has begun to record calls, by the pages of the processes.
pub fn has_calls(run: &Path) -> bool {
    overview(run).is_ok_and(|end| end.rings > 0 || end.missing.overwritten > 0)
}

/// The run that this process is itself part of.
#[derive(Debug)]
pub struct OuterRun {
    run: PathBuf,
    page: Page,
}

impl OuterRun {
    /// By the environment. None where no run is named, where it has ended, or where its folder cannot be read: in
    /// another mount namespace it has a path that leads nowhere.
    pub fn from_environment() -> Option<OuterRun> {
        let run_dir = crate::run_dir::folder::outer()?;
        let page = Page::of_run(&run_dir).ok().filter(Page::is_a_run)?;
        let goes_on = matches!(page.collector_state(), COLLECTOR_NEVER | COLLECTOR_ATTACHED);
        goes_on.then(|| OuterRun { run: run_dir.path(), page })
    }

    /// A collector follows it; else somebody may have set the variables of a second run.
    pub fn is_followed(&self) -> bool {
        self.page.collector_state() == COLLECTOR_ATTACHED
    }

    /// Says it. Calls of `whom` come to this run, unless only hooks are wanted here.
    pub fn announce(&self, whom: &str, come_here: bool) {
        let run = self.run.to_string_lossy();
        let (whom, run) = (printable(whom), printable(&run));
        let calls = if come_here { "go to this one only" } else { "do not go there" };
        print_notice(&format!("this cutap runs inside another one (run directory {run}): the calls of {whom} {calls}"));
    }

    /// Leaves word for the end of the outer run. Where its page cannot be written, nothing is said there.
    pub fn count_inner_run(&self) {
        self.page.one_more_inside();
    }
}
