//! `cutap kernel trace`: runs a program and prints what its CUDA libraries send to the kernel driver.

use super::answers;
use super::decode::{DriverArgs, StyleArgs};
use crate::args::{CaptureArgs, JsonArgs, LossyArgs, ProgramArgs};
use crate::embedded::LIBRARIES;
use cutap_collect::{OutputFormat, Result, TraceOptions};
use cutap_kernel::select::Select;
use cutap_report::KernelStyle;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Trace {
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
    #[command(flatten)]
    program: ProgramArgs,
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
        let (json, driver, select) = (self.json.json, self.driver.driver, self.select.select());
        let kernel_answers = self.answers.rows(driver.as_deref())?;
        let style = self.style.style();
        let kernel =
            KernelStyle { json, verbose: style.verbose, hex: style.hex, driver, select, ..KernelStyle::default() };
        let options = TraceOptions {
            form: OutputFormat::default(),
            kernel: Some(kernel),
            kernel_answers,
            filter: Some("kernel".into()),
            output: self.file,
            full: self.lossy.policy(),
            ..self.capture.add_to(self.program.options())
        };
        cutap_collect::trace(LIBRARIES, &options)?.exit_like()
    }
}
