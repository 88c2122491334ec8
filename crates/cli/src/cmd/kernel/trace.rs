//! `cutap kernel trace`: runs a program and prints what its CUDA libraries send to the kernel driver.

use super::answers;
use super::decode::{DriverArgs, StyleArgs};
use super::outside::Outside;
use crate::args::{CaptureArgs, JsonArgs, LossyArgs};
use crate::embedded::LIBRARIES;
use cutap_collect::{Error, OutputFormat, Result, TraceOptions};
use cutap_kernel::select::Select;
use cutap_report::KernelStyle;
use std::ffi::OsString;
use std::path::PathBuf;

/// The layer is added to the others: CUDA calls are headings.
pub(super) const FILTER: &str = "kernel";

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

/// Which ioctls are printed.
#[derive(Debug, clap::Args)]
pub struct SelectArgs {
    /// Only this escape, RM control or UVM command: name with *, end of a name, or number
    #[arg(long, value_name = "COMMAND")]
    command: Vec<String>,
    /// Only allocations of this class: name with *, end of a name, or number
    #[arg(long, value_name = "CLASS")]
    class: Vec<String>,
    /// Only requests that name this handle
    #[arg(long, value_name = "HANDLE", value_parser = handle)]
    object: Vec<u32>,
    /// Only requests that end with this status (name or number), or that failed
    #[arg(long, value_name = "STATUS|failed")]
    status: Vec<String>,
}

fn handle(text: &str) -> std::result::Result<u32, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    u32::from_str_radix(digits, 16).map_err(|_| format!("{text} is no handle; give one such as 0x5c000003"))
}

impl SelectArgs {
    pub fn select(self) -> Select {
        Select { commands: self.command, classes: self.class, objects: self.object, statuses: self.status }
    }
}

impl Trace {
    pub fn run(self) -> Result<()> {
        if self.ptrace || self.pid.is_some() {
            return self.outside();
        }
        let (json, driver, select) = (self.json.json, self.driver.driver, self.select.select());
        let mut words = self.program.into_iter();
        let kernel_answers = self.answers.rows(driver.as_deref())?;
        let style = self.style.style();
        let kernel =
            KernelStyle { json, verbose: style.verbose, hex: style.hex, driver, select, ..KernelStyle::default() };
        let options = TraceOptions {
            form: OutputFormat::default(),
            kernel: Some(kernel),
            kernel_answers,
            filter: Some(FILTER.into()),
            program: words.next().unwrap_or_default(),
            args: words.collect(),
            no_follow: self.no_follow_children,
            output: self.file,
            full: self.lossy.policy(),
            ..self.capture.add_to(TraceOptions::default())
        };
        cutap_collect::trace(LIBRARIES, &options)?.exit_like()
    }

    /// By ptrace: nothing of ours is in the program.
    fn outside(self) -> Result<()> {
        let select = self.select.select();
        if !select.is_empty() || !self.answers.is_empty() {
            return Err(Error::own(
                "--command, --class, --object, --status, --deny and --fail need the trace from inside; leave --ptrace and -p out",
            ));
        }
        let (style, json) = (self.style.style(), self.json.json);
        Outside { pid: self.pid, file: self.file, style, json, driver: self.driver, program: self.program }.run()
    }
}
