//! `cutap env`: prints the environment in which any program is traced, without a cutap process around it.

use crate::args::{ChatterArgs, DriverArgs, FilterArgs, GpuTimeArgs, HookArgs, OverflowArgs, StackArgs};
use crate::embedded::LIBRARIES;
use crate::stdout::print;
use cutap_collect::{EnvOptions, Result};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Env {
    /// The run directory to make; cutap show DIR reads it
    #[arg(short = 'o', value_name = "DIR")]
    run: PathBuf,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    driver: DriverArgs,
    #[command(flatten)]
    overflow: OverflowArgs,
    #[command(flatten)]
    stack: StackArgs,
    #[command(flatten)]
    gpu_time: GpuTimeArgs,
    #[command(flatten)]
    chatter: ChatterArgs,
    #[command(flatten)]
    hooks: HookArgs,
    /// Record nothing: only the hooks work
    #[arg(long, requires = "hooks", conflicts_with = "filter")]
    no_record: bool,
}

impl Env {
    pub fn run(self) -> Result<()> {
        let driver = self.driver.choice()?;
        let options = EnvOptions {
            run: self.run,
            filter: self.filter.text(),
            driver,
            full: self.overflow.policy(),
            stacks: self.stack.stacks(),
            python: self.stack.python(),
            gpu_time: self.gpu_time.with(driver)?,
            count_chatter: self.chatter.counts(),
            hooks: self.hooks.hooks,
            only_hooks: self.no_record,
        };
        print(&cutap_collect::env(LIBRARIES, &options)?)
    }
}
