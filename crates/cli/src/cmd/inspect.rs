//! `cutap inspect`: how programs and libraries reach CUDA.

use crate::args::JsonArgs;
use crate::stdout::print;
use cutap_collect::{Error, Result, find_on_path, print_notice};
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub struct Inspect {
    #[command(flatten)]
    json: JsonArgs,
    /// Programs, also by their names on PATH, and libraries
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl Inspect {
    /// A file that cannot be read does not keep the others from being printed. The last such file is the error.
    pub fn run(self) -> Result<()> {
        let mut unreadable: Option<Error> = None;
        for file in &self.files {
            match cutap_inspect::inspect(&locate(file)) {
                Ok(report) => print(&if self.json.json { report.json() + "\n" } else { report.to_string() })?,
                Err(e) => {
                    if let Some(before) = unreadable.replace(Error::own(e.to_string())) {
                        print_notice(&before.to_string());
                    }
                }
            }
        }
        unreadable.map_or(Ok(()), Err)
    }
}

/// The file, or the program of this name on PATH, as trace finds it.
fn locate(file: &Path) -> PathBuf {
    let is_name = !file.exists() && !file.to_string_lossy().contains('/');
    let on_path = is_name.then(|| find_on_path(file.as_os_str()).ok()).flatten();
    on_path.unwrap_or_else(|| file.to_owned())
}
