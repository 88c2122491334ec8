//! `cutap syscall sites`: the call sites of ioctl, mmap and getenv in a library or a program.

use super::{named, own};
use crate::args::JsonArgs;
use crate::stdout::print;
use cutap_collect::Result;
use cutap_kernel::scan::{Binary, sites};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Sites {
    /// Instructions to print before and after each call
    #[arg(short = 'C', long, value_name = "N", default_value_t = 4)]
    context: u8,
    /// Only calls of this function: ioctl, mmap, mmap64, getenv, secure_getenv, syscall
    #[arg(long, value_name = "NAME")]
    function: Option<String>,
    #[command(flatten)]
    json: JsonArgs,
    /// Libraries or programs, such as libcuda.so.1
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl Sites {
    pub fn run(self) -> Result<()> {
        for file in &self.files {
            let binary = Binary::read(&named(file)).map_err(own)?;
            let mut sites = sites::find(&binary, self.context.min(64).into());
            sites.retain(|site| self.function.as_deref().is_none_or(|name| name == site.function));
            let name = file.to_string_lossy();
            print(&if self.json.json { sites::json(&name, &sites) } else { sites::text(&name, &sites) })?;
        }
        Ok(())
    }
}
