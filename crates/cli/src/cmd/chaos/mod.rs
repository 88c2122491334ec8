//! `cutap chaos`: runs a program again and again, each time with one call that fails, and reports how the program reacts.
//! Only calls of the program's own code are made to fail, not those that toolkit libraries make inside.

mod child;
mod output;
mod plan;
mod verdict;

use crate::args::DriverArgs;
use child::{Child, Ended};
use clap::Args;
use cutap_collect::{CallSite, DriverChoice, Error, Result, cannot, print_notice};
use plan::Plan;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use verdict::{Finding, Verdict};

#[derive(Debug, Args)]
#[command(override_usage = "cutap chaos [OPTIONS] -- PROG [ARGS]...")]
pub struct Chaos {
    /// Begin no run after this time: 10m, 90s
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "10m")]
    budget: Duration,
    /// A run that lasts longer hangs; by default ten times the longest clean run, and 10 s at least
    #[arg(long, value_name = "TIME", value_parser = time)]
    deadline: Option<Duration>,
    /// Test so many call sites at most
    #[arg(long, value_name = "N")]
    sites: Option<usize>,
    /// Also write the answers as a JUnit file
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    #[command(flatten)]
    driver: DriverArgs,
    /// The program to run, and its arguments
    #[arg(last = true, required = true, value_name = "PROG")]
    program: Vec<OsString>,
}

/// Runs without a failure, before any with one.
const CLEAN_RUNS: usize = 3;

fn time(text: &str) -> std::result::Result<Duration, String> {
    let nanoseconds = cutap_quantity::nanoseconds(text).filter(|ns| *ns > 0);
    nanoseconds.map(Duration::from_nanos).ok_or_else(|| format!("{text} is no time; write it as 10m, 90s or 500ms"))
}

impl Chaos {
    pub fn run(self) -> Result<()> {
        let begin = Instant::now();
        let flag = match self.driver.choice()? {
            DriverChoice::Simulated => Some("--sim"),
            DriverChoice::Cudest => Some("--cudest"),
            DriverChoice::Installed => None,
        };
        let child = Child::new(flag, self.program)?;
        let mut clean = Vec::new();
        for _ in 0..CLEAN_RUNS {
            let run = child.run(None, self.budget)?;
            if run.ending == Ended::Hung {
                return Err(Error::own("the program did not end without a failure; give a longer --budget"));
            }
            clean.push(run);
        }
        let plan = Plan::new(&clean)?;
        output::print_plan(&plan)?;
        let slowest = clean.iter().map(|run| run.lasted).max().unwrap_or_default();
        let deadline = self.deadline.unwrap_or_else(|| (slowest * 10).max(Duration::from_secs(10)));
        let most = self.sites.unwrap_or(usize::MAX);
        let (mut findings, mut untested) = (Vec::new(), Vec::new());
        // What is left in a clean run is no leak of a failure.
        let mut left_clean = None;
        for (n, planned) in plan.sites.iter().enumerate() {
            if begin.elapsed() >= self.budget || n >= most {
                untested.push(planned.site.clone());
                continue;
            }
            let rule = planned.rule();
            let run = child.run(Some(&rule), deadline)?;
            let mut verdict = verdict::of(&plan, planned, &run);
            if verdict == Verdict::Handled && run.ending == Ended::Code(0) {
                let before = match left_clean {
                    Some(before) => before,
                    None => *left_clean.insert(child.count_left(None, deadline)?),
                };
                if let (Some(before), Some(after)) = (before, child.count_left(Some(&rule), deadline)?)
                    && after > before
                {
                    verdict = Verdict::Leak(after - before);
                }
            }
            let finding =
                Finding { site: planned.site.clone(), error: planned.error.clone(), verdict, ending: run.ending };
            output::print_finding(&finding, &child.repeat(&rule))?;
            findings.push((finding, child.repeat(&rule)));
        }
        output::print_end(&plan, &findings, &untested)?;
        if let Some(file) = &self.junit {
            let text = output::junit(&plan, &findings, &untested);
            let advice = "give a file in a folder that exists";
            std::fs::write(file, text).map_err(|e| cannot("write", file, &e, advice))?;
        }
        if plan.sites.is_empty() {
            print_notice("no call site is the same in all clean runs, so nothing was tested");
            std::process::exit(cutap_collect::OWN_FAILURE.into());
        }
        if findings.iter().any(|(finding, _)| finding.verdict.is_problem()) {
            std::process::exit(1);
        }
        Ok(())
    }
}

/// `cudaMalloc at main+0x12f0`.
fn name_of(site: &CallSite) -> String {
    format!("{} at {}+{:#x}", site.function, site.module, site.offset)
}
