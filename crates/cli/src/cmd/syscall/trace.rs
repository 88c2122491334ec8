//! `cutap syscall trace`: runs a program and prints what its CUDA libraries send to the kernel driver.

use super::answers;
use super::args::{DriverArgs, SelectArgs, StyleArgs};
use super::outside::Outside;
use crate::args::{CaptureArgs, JsonArgs, LossyArgs};
use crate::embedded::LIBRARIES;
use cutap_collect::{Error, OutputFormat, Result, TraceOptions};
use cutap_report::KernelStyle;
use std::ffi::OsString;
use std::path::PathBuf;

/// The layer is added to the others: CUDA calls are headings.
pub(super) const FILTER: &str = "syscall";

#[derive(Debug, clap::Args)]
pub struct Trace {
    /// Trace from outside by ptrace: any program, also static ones, Go and musl. It sets no_new_privs
    #[arg(long)]
    ptrace: bool,
    /// Trace this running process by ptrace; every system call of it becomes slow
    #[arg(short = 'p', long, value_name = "PID", conflicts_with_all = ["ptrace", "program"])]
    pid: Option<i32>,
    #[command(flatten)]
    style: StyleArgs,
    #[command(flatten)]
    json: JsonArgs,
    #[command(flatten)]
    driver: DriverArgs,
    #[command(flatten)]
    select: SelectArgs,
    #[command(flatten)]
    answers: answers::AnswerArgs,
    /// Write to FILE, not to standard error
    #[arg(short = 'o', value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    capture: CaptureArgs,
    #[command(flatten)]
    lossy: LossyArgs,
    /// Leave child processes alone
    #[arg(long)]
    no_follow_children: bool,
    /// The program and its arguments
    #[arg(required_unless_present = "pid", trailing_var_arg = true, value_name = "PROG")]
    program: Vec<OsString>,
}

impl Trace {
    pub fn run(self) -> Result<()> {
        if self.ptrace || self.pid.is_some() {
            return self.outside();
        }
        let (json, driver, select) = (self.json.json, self.driver.driver, self.select.select()?);
        let mut words = self.program.into_iter();
        let kernel_answers = self.answers.rows(driver.as_deref())?;
        let style = self.style.style();
        let kernel =
            KernelStyle { json, verbose: style.verbose, hex: style.hex, driver, select, ..KernelStyle::default() };
        let mut options = TraceOptions {
            form: OutputFormat::default(),
            kernel: Some(kernel),
            kernel_answers,
            filter: Some(FILTER.into()),
            program: words.next().unwrap_or_default(),
            args: words.collect(),
            no_follow: self.no_follow_children,
            output: self.file,
            full: self.lossy.policy(),
            ..self.capture.add_to(TraceOptions::default())?
        };
        // Alone it means outermost calls, and CUDA calls are around these.
        if let Some(stacks) = &mut options.stacks {
            stacks.filter.get_or_insert_with(|| FILTER.into());
        }
        cutap_collect::trace(LIBRARIES, &options)?.exit_like()
    }

    /// By ptrace: nothing of cutap is in the program.
    fn outside(self) -> Result<()> {
        if !self.answers.is_empty() {
            return Err(Error::own(
                "--deny and --fail need the trace from inside, for ptrace only reads; leave --ptrace and -p out",
            ));
        }
        let (style, json, select) = (self.style.style(), self.json.json, self.select.select()?);
        Outside { select, pid: self.pid, file: self.file, style, json, driver: self.driver, program: self.program }
            .run()
    }
}
