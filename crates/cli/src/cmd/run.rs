//! `cutap run`: runs a program under hook libraries or on a driver of cutap, and records nothing.

use crate::args::ProgramArgs;
use crate::embedded::LIBRARIES;
use cutap_collect::{OutputFormat, Result, TraceOptions};

/// One of these is given, or a hook library.
const ENOUGH: [&str; 9] = ["inject", "rules", "stop_at", "arm", "call_sites", "sim", "cudest", "limit_memory", "gpus"];

#[derive(Debug, clap::Args)]
#[command(mut_arg("hooks", |hooks| hooks.required_unless_present_any(ENOUGH)))]
#[command(mut_arg("rules", |arg| arg.hide(false)), mut_arg("stop_at", |arg| arg.hide(false)))]
#[command(mut_arg("arm", |arg| arg.hide(false)), mut_arg("seed", |arg| arg.hide(false)))]
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
