//! What a program made of one call that failed.

use super::child::{Done, Ended};
use super::plan::{Plan, Planned};
use cutap_collect::CallSite;

/// What it made of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It ended with an error, or did something else and gave the same output.
    Handled,
    /// It made the same calls as without a failure, gave the same output and exit code 0.
    Ignored,
    Crash,
    Hang,
    /// Exit code 0, and another output.
    Output,
    /// It was handled, and so many things more were left than in a clean run.
    Leak(u64),
    /// The call was not made in this run.
    NotReached,
}

impl Verdict {
    /// The program is to be changed.
    pub fn is_problem(self) -> bool {
        matches!(self, Verdict::Crash | Verdict::Hang | Verdict::Output | Verdict::Leak(_))
    }

    pub fn word(self) -> &'static str {
        match self {
            Verdict::Handled => "handled",
            Verdict::Ignored => "ignored",
            Verdict::Crash => "crash",
            Verdict::Hang => "hang",
            Verdict::Output => "output",
            Verdict::Leak(_) => "leak",
            Verdict::NotReached => "missed",
        }
    }
}

/// A site with its verdict.
pub struct Finding {
    pub site: CallSite,
    pub error: String,
    pub verdict: Verdict,
    pub ending: Ended,
}

impl Finding {
    /// What happened, in a few words.
    pub fn sentence(&self) -> String {
        match (self.verdict, self.ending) {
            (Verdict::Hang, _) => "it did not end until the deadline".to_owned(),
            (Verdict::Crash, Ended::Signal(signal)) => format!("it died by signal {signal} ({})", signal_name(signal)),
            (Verdict::Output, _) => "exit code 0, and another output".to_owned(),
            (Verdict::Leak(1), _) => "exit code 0, and 1 thing more was left".to_owned(),
            (Verdict::Leak(number), _) => format!("exit code 0, and {number} things more were left"),
            (Verdict::Ignored, _) => "exit code 0, the same calls and output as without a failure".to_owned(),
            (Verdict::NotReached, _) => "the call was not made in this run".to_owned(),
            (_, Ended::Code(code)) => format!("exit code {code}"),
            (_, _) => "it ended".to_owned(),
        }
    }
}

/// The verdict on one run. Leaks are found by another run.
pub fn of(plan: &Plan, planned: &Planned, run: &Done) -> Verdict {
    let was_reached = run.sites.iter().any(|(site, calls)| *site == planned.site && *calls > 0);
    match run.ending {
        Ended::Hung => Verdict::Hang,
        Ended::Signal(_) => Verdict::Crash,
        _ if !was_reached && !run.sites.is_empty() => Verdict::NotReached,
        Ended::Code(0) => {
            if plan.output.as_ref().is_some_and(|output| *output != run.output) {
                return Verdict::Output;
            }
            // Sites that vary anyway tell nothing.
            let stable = |site: &CallSite| !plan.unstable.contains(site) && !plan.without_error.contains(site);
            let now = run.sites.iter().filter(|(site, _)| stable(site)).map(|(site, calls)| (site, calls));
            if now.eq(plan.calls.iter()) { Verdict::Ignored } else { Verdict::Handled }
        }
        Ended::Code(_) => Verdict::Handled,
    }
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGILL => "SIGILL",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGKILL => "SIGKILL",
        libc::SIGTERM => "SIGTERM",
        _ => "see kill -l",
    }
}
