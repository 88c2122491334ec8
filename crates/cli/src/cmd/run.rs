//! `cutap run`: runs a program under hook libraries or on a driver of cutap, and records nothing.

use crate::args::ProgramArgs;
use crate::embedded::LIBRARIES;
use cutap_collect::{OutputFormat, Result, TraceOptions};

/// Flags that are a reason for a run without hook libraries.
const WITHOUT_HOOKS: [&str; 5] = ["inject", "sim", "cudest", "limit_memory", "gpus"];

#[derive(Debug, clap::Args)]
#[command(mut_arg("hooks", |hooks| hooks.required_unless_present_any(WITHOUT_HOOKS)))]
#[command(mut_arg("limit_memory", |limit| limit.hide(false)), mut_arg("accounts", |accounts| accounts.hide(false)))]
#[command(mut_arg("gpus", |gpus| gpus.hide(false)))]
pub struct Run {
    #[command(flatten)]
    program: ProgramArgs,
}

impl Run {
    pub fn run(self) -> Result<()> {
        let form = OutputFormat { only_hooks: true, ..OutputFormat::default() };
        let options = TraceOptions { form, ..self.program.options()? };
        cutap_collect::trace(LIBRARIES, &options)?.exit_like()
    }
}
