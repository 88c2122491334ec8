//! `cutap check`: rules that the calls of a run must follow, for CI. It runs a program, or reads recordings.

mod answer;
mod evaluate;
mod output;
mod rule;
mod rules_file;
mod steady;

use crate::args::{DriverArgs, InputArgs, JsonArgs, StackArgs};
use crate::embedded::LIBRARIES;
use crate::stdout::written;
pub use answer::{Answer, State};
use clap::builder::PossibleValuesParser;
use cutap_collect::{Error, ExitKind, OWN_FAILURE, Result, TraceOptions, cannot, colour};
use cutap_report::Explain;
pub use output::junit as junit_of;
use rule::{Rule, RuleKind};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
#[command(override_usage = "cutap check [OPTIONS] [RUN]...\n       cutap check [OPTIONS] -- PROG [ARGS]...")]
pub struct Check {
    /// No call fails, or none of these; a failure that the caller handled is none
    #[arg(long, value_name = "FILTER", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    no_errors: Option<String>,
    /// All that was made is freed, or what these calls made
    #[arg(long, value_name = "FILTER", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    no_leaks: Option<String>,
    /// At most N calls of a filter: 'cudaMalloc<=10'; several rules are possible
    #[arg(long, value_name = "FILTER<=N")]
    max: Vec<String>,
    /// At least N calls of a filter: 'cuLaunchKernel*>=1'
    #[arg(long, value_name = "FILTER>=N")]
    min: Vec<String>,
    /// No call may block the host, or none of these
    #[arg(long, value_name = "FILTER", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    no_sync: Option<String>,
    /// No call that may block the host in a range of NVTX of this name
    #[arg(long, value_name = "RANGE")]
    no_sync_in: Vec<String>,
    /// No finding of this rule of cutap explain
    #[arg(long, value_name = "RULE", value_parser = PossibleValuesParser::new(Explain::rule_names()))]
    explain: Vec<String>,
    /// The same calls as in this recording, as cutap diff compares them
    #[arg(long, value_name = "GOLDEN")]
    like: Vec<PathBuf>,
    /// More rules, with names and comments (docs/how-to/ci.md)
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
    /// Also write the answers as a JUnit file
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    #[command(flatten)]
    json: JsonArgs,
    /// With PROG: the recording to write, by default run.cutap
    #[arg(short = 'o', value_name = "FILE", requires = "program")]
    file: Option<PathBuf>,
    #[command(flatten)]
    driver: DriverArgs,
    #[command(flatten)]
    stack: StackArgs,
    #[command(flatten)]
    input: InputArgs,
    /// The program to run and check, and its arguments
    #[arg(last = true, value_name = "PROG")]
    program: Vec<OsString>,
}

impl Check {
    pub fn run(self) -> Result<()> {
        let rules = self.all_rules()?;
        let mut answers = Vec::new();
        let mut input = self.input;
        // A run gives up standard output, so that the program's pipes end with it.
        let stdout = io::stdout().as_fd().try_clone_to_owned();
        let stdout = File::from(stdout.map_err(|e| cannot("use", Path::new("standard output"), &e, "redirect it"))?);
        if let Some((program, args)) = self.program.split_first() {
            let file = self.file.unwrap_or_else(|| PathBuf::from(RECORDING));
            refuse_written_golden(&rules, &file)?;
            if input.runs != [PathBuf::from(RECORDING)] {
                return Err(Error::own("give recordings to check, or a program behind --, and not both"));
            }
            let options = TraceOptions {
                program: program.clone(),
                args: args.to_vec(),
                record: true,
                driver: self.driver.choice()?,
                stacks: self.stack.stacks(),
                python: self.stack.python(),
                output: Some(file.clone()),
                silent: true,
                ..TraceOptions::default()
            };
            answers.push(end_of_program(cutap_collect::trace(LIBRARIES, &options)?)?);
            input.runs = vec![file];
        }
        for rule in &rules {
            answers.push(evaluate::answer(rule, &input));
        }
        let mut out = BufWriter::new(stdout);
        written(output::write(&answers, self.json.json, colour(), &mut out).and_then(|()| out.flush()))?;
        if let Some(file) = &self.junit {
            write_junit(file, &answers)?;
        }
        let has = |is_meant: fn(&State) -> bool| answers.iter().any(|answer| is_meant(&answer.state));
        if has(|state| matches!(state, State::Violated(_))) {
            std::process::exit(1);
        }
        if has(|state| matches!(state, State::NotKnown)) {
            std::process::exit(OWN_FAILURE.into());
        }
        Ok(())
    }

    /// The rules of the command line, then those of the file. Without any, those that most programs should follow.
    fn all_rules(&self) -> Result<Vec<Rule>> {
        let mut kinds = Vec::new();
        kinds.extend(self.no_errors.clone().map(RuleKind::NoErrors));
        kinds.extend(self.no_leaks.clone().map(RuleKind::NoLeaks));
        for (texts, at_most) in [(&self.max, true), (&self.min, false)] {
            for text in texts {
                kinds.push(RuleKind::count(text, at_most)?);
            }
        }
        kinds.extend(self.no_sync.clone().map(RuleKind::NoSync));
        kinds.extend(self.no_sync_in.iter().cloned().map(RuleKind::NoSyncIn));
        kinds.extend(self.explain.iter().cloned().map(RuleKind::Explain));
        kinds.extend(self.like.iter().cloned().map(RuleKind::Like));
        let mut rules: Vec<Rule> = kinds.into_iter().map(Rule::from).collect();
        if let Some(file) = &self.rules {
            rules.extend(rules_file::read(file)?);
        }
        if rules.is_empty() {
            let usual = [
                RuleKind::NoErrors(String::new()),
                RuleKind::NoLeaks(String::new()),
                RuleKind::Explain("unfinished_calls".to_owned()),
            ];
            rules.extend(usual.map(Rule::from));
        }
        if self.program.is_empty() && (self.driver.is_given() || self.stack.is_wanted()) {
            return Err(Error::own("--sim, --cudest and --stack are for a program that is run; write it behind --"));
        }
        Ok(rules)
    }
}

/// The file that a program is recorded into.
const RECORDING: &str = "run.cutap";

/// The program's recording would take the place of the one that it is compared with.
fn refuse_written_golden(rules: &[Rule], file: &Path) -> Result<()> {
    let same =
        |golden: &Path| golden.canonicalize().is_ok_and(|golden| file.canonicalize().is_ok_and(|to| to == golden));
    let is_written = |rule: &Rule| matches!(&rule.kind, RuleKind::Like(golden) if same(golden));
    match rules.iter().any(is_written) {
        true => Err(Error::own(format!(
            "{} is what the program is compared with, and would be written over; give another file with -o",
            file.display()
        ))),
        false => Ok(()),
    }
}

/// The program's exit code is a rule, too.
fn end_of_program(exit_kind: ExitKind) -> Result<Answer> {
    let (state, sentence) = match exit_kind {
        ExitKind::Code(0) => (State::Holds, "it ended with exit code 0".to_owned()),
        ExitKind::Code(code) if code == i32::from(OWN_FAILURE) => {
            return Err(Error::own("the program could not be run or recorded, so nothing was checked"));
        }
        ExitKind::Code(code) => (State::Violated(1), format!("it ended with exit code {code}")),
        ExitKind::Signal(signal) => (State::Violated(1), format!("it was ended by signal {signal}")),
    };
    Ok(Answer { name: "the program succeeds".to_owned(), state, sentence, body: String::new() })
}

fn write_junit(file: &Path, answers: &[Answer]) -> Result<()> {
    std::fs::write(file, output::junit("cutap check", answers))
        .map_err(|e| cannot("write", file, &e, "give a file in a folder that exists"))
}
