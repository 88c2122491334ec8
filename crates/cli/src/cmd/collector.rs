//! `cutap __collect`: the collector process of a run. Other subcommands start it; it is not for people.

use cutap_collect::{CollectorOptions, Result};

#[derive(Debug, clap::Args)]
pub struct Collector {
    /// The options in JSON, as the process that starts the collector writes them.
    options: CollectorOptions,
}

impl Collector {
    pub fn run(self) -> Result<()> {
        cutap_collect::collect(&self.options)
    }
}
