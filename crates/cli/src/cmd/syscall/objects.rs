//! `cutap syscall tree` and `cutap syscall maps`: the objects of a run, and the mappings of device nodes.

use super::args::DriverArgs;
use super::input::{self, Input};
use super::own;
use crate::args::FilterArgs;
use crate::stdout::print;
use cutap_collect::{Result, print_notice};
use cutap_kernel::Action;
use cutap_kernel::decode::Decoder;
use cutap_kernel::objects::Objects;
use cutap_kernel::{maps, tree};
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub struct Tree {
    #[command(flatten)]
    driver: DriverArgs,
    #[command(flatten)]
    filter: FilterArgs,
    /// A recording, a run directory, or a log that cutap syscall decode reads
    #[arg(value_name = "RUN")]
    run: PathBuf,
}

#[derive(Debug, clap::Args)]
pub struct Maps {
    #[command(flatten)]
    driver: DriverArgs,
    #[command(flatten)]
    filter: FilterArgs,
    /// A recording, a run directory, a log that cutap syscall decode reads, or the number of a process
    #[arg(value_name = "RUN|PID")]
    run: PathBuf,
}

impl Tree {
    pub fn run(self) -> Result<()> {
        let RunObjects { objects, whole, .. } = objects(&self.run, &self.filter, &self.driver)?;
        print(&tree::text(&objects))?;
        whole
    }
}

impl Maps {
    pub fn run(self) -> Result<()> {
        let pid = self.run.to_str().and_then(|text| text.parse().ok()).filter(|_| !self.run.exists());
        match pid {
            Some(pid) => print(&maps::of_process(pid).map_err(own)?),
            None => {
                let RunObjects { objects, has_mmap, whole } = objects(&self.run, &self.filter, &self.driver)?;
                if !has_mmap {
                    print_notice("there is no mmap among the calls: cutap record -e syscall PROG keeps it");
                }
                if objects.submitted.is_empty() {
                    print_notice(
                        "which memory has pushbuffers is not known: cutap record -e syscall,submit PROG keeps it",
                    );
                }
                print(&maps::text(&objects))?;
                whole
            }
        }
    }
}

/// What a run has.
struct RunObjects {
    objects: Objects,
    /// Whether there is a call of mmap.
    has_mmap: bool,
    /// A failure where the run is damaged.
    whole: Result<()>,
}

fn objects(path: &Path, filter: &FilterArgs, driver: &DriverArgs) -> Result<RunObjects> {
    let Input { run, whole } = input::read(path, filter.text().as_deref())?;
    let decoder = Decoder::new(driver.driver.as_deref(), &run).map_err(own)?;
    print_notice(&decoder.description());
    if !input::has_ioctl(&run) {
        print_notice(
            "there is no ioctl among the calls: cutap record -e syscall PROG keeps it, on a machine with a GPU",
        );
    }
    let has_mmap = run.calls.iter().any(|call| matches!(call.action, Action::Mmap { .. }));
    Ok(RunObjects { objects: Objects::of(&run, &decoder), has_mmap, whole })
}
