//! `cutap syscall census`: what runs use of the kernel driver, counted, with every number that is not understood.

use super::args::DriverArgs;
use super::input::{self, Input};
use super::own;
use crate::args::FilterArgs;
use crate::stdout::print;
use cutap_collect::{Result, print_notice};
use cutap_kernel::census::Census as Counts;
use cutap_kernel::decode::Decoder;
use cutap_kernel::nvproxy::Nvproxy;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Census {
    /// Print what a sandbox must permit for these runs, in the terms of gVisor's nvproxy, and what nvproxy refuses
    #[arg(long)]
    allow_list: bool,
    #[command(flatten)]
    driver: DriverArgs,
    #[command(flatten)]
    filter: FilterArgs,
    /// Recordings, run directories, or logs that cutap syscall decode reads
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
}

impl Census {
    pub fn run(self) -> Result<()> {
        let mut counts = Counts::default();
        let (mut nvproxy, mut all_whole) = (None, Ok(()));
        for path in &self.runs {
            let Input { run, whole } = input::read(path, self.filter.text().as_deref())?;
            all_whole = all_whole.and(whole);
            let decoder = Decoder::new(self.driver.driver.as_deref(), &run).map_err(own)?;
            print_notice(&format!("{}: {}", path.display(), decoder.description()));
            counts.add(&run, &decoder);
            nvproxy.get_or_insert_with(|| Nvproxy::of(decoder.driver()));
        }
        print(&match nvproxy {
            Some(nvproxy) if self.allow_list => counts.allow_list(nvproxy),
            _ => counts.text(),
        })?;
        all_whole
    }
}
