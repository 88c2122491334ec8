//! `cutap syscall diff`: compares two driver releases, or two runs.

use super::args::DriverArgs;
use super::input::{self, Input};
use super::own;
use crate::args::JsonArgs;
use crate::stdout::print;
use cutap_collect::{Error, Result, print_notice};
use cutap_kernel::Run;
use cutap_kernel::decode::Decoder;
use cutap_kernel::diff::{Used, is_version, release, runs, tables};
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub struct Diff {
    /// Of two releases, only what this run uses
    #[arg(long, value_name = "RUN")]
    used_by: Option<PathBuf>,
    #[command(flatten)]
    json: JsonArgs,
    #[command(flatten)]
    driver: DriverArgs,
    /// A driver release or branch (570, 580.142), or a recording or log of kernel calls
    #[arg(value_name = "A")]
    first: PathBuf,
    /// Another one of the same kind
    #[arg(value_name = "B")]
    second: PathBuf,
}

impl Diff {
    pub fn run(self) -> Result<()> {
        match (version(&self.first), version(&self.second)) {
            (Some(old), Some(new)) => self.releases(old, new),
            (None, None) => self.runs(),
            _ => Err(Error::own("one argument is a driver release and the other a file; give two of the same kind")),
        }
    }

    fn releases(&self, old: &str, new: &str) -> Result<()> {
        let (old, new) = (release(old).map_err(own)?, release(new).map_err(own)?);
        let mut used_whole = Ok(());
        let used = match &self.used_by {
            Some(path) => {
                let Input { run, whole } = input::read(path, None)?;
                used_whole = whole;
                let decoder = Decoder::new(self.driver.driver.as_deref(), &run).map_err(own)?;
                print_notice(&format!("{}: {}", path.display(), decoder.description()));
                Some(Used::of(&run, &decoder))
            }
            None => None,
        };
        let all = tables::differences(old, new, used.as_ref());
        print(&if self.json.json { tables::json(old, new, &all) } else { tables::text(old, new, &all) })?;
        used_whole
    }

    fn runs(&self) -> Result<()> {
        if self.used_by.is_some() {
            return Err(Error::own("--used-by is for two driver releases; leave it out to compare runs"));
        }
        let read = |path: &Path| -> Result<(Run, Decoder, Result<()>)> {
            let Input { run, whole } = input::read(path, None)?;
            let decoder = Decoder::new(self.driver.driver.as_deref(), &run).map_err(own)?;
            print_notice(&format!("{}: {}", path.display(), decoder.description()));
            Ok((run, decoder, whole))
        };
        let (first, second) = (read(&self.first)?, read(&self.second)?);
        let differences = runs::compare((&first.0, &first.1), (&second.0, &second.1)).map_err(own)?;
        print(&if self.json.json { runs::json(&differences) } else { runs::text(&differences) })?;
        first.2.and(second.2)
    }
}

/// The word as a release, unless a file has this name.
fn version(path: &Path) -> Option<&str> {
    path.to_str().filter(|word| is_version(word) && !path.exists())
}
