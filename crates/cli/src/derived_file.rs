//! A file that a command makes of runs: an export, a picture. It replaces neither a run nor a file that another cutap
//! uses.

use cutap_collect::output_file::{self, OpenWording, holds_recording, is_same_file};
use cutap_collect::{Error, Result, cannot};
use cutap_trace::Runs;
use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

/// The words for a kind of file.
#[derive(Debug)]
pub struct DerivedFile {
    /// `export`.
    pub noun: &'static str,
    /// `exported`.
    pub verb: &'static str,
    /// The command with the file, without the run.
    pub command: &'static str,
}

const ADVICE: &str = "give a file that you may write";

impl DerivedFile {
    /// Opens the file and empties it.
    pub fn open(&self, runs: &Runs, path: &Path) -> Result<File> {
        let DerivedFile { noun, verb, command } = self;
        let display_path = path.display();
        if runs.paths().iter().any(|run| is_same_file(run, path)) {
            return Err(Error::own(format!(
                "{display_path} is what is to be {verb}; give another name for the {noun}"
            )));
        }
        if let Some(run) = runs.paths().iter().find(|run| inside(run, path)) {
            let run = run.display();
            return Err(Error::own(format!(
                "{display_path} is in the run directory {run}, which is only read; {ADVICE} elsewhere"
            )));
        }
        if path.as_os_str() == "-" {
            return Err(Error::own(format!("cannot write the {noun} to -: give a file, or /dev/stdout")));
        }
        let (advice, action) = ("give another file", self.action());
        let file = output_file::open_alone(
            path,
            false,
            &OpenWording {
                action: &action,
                advice: ADVICE,
                alternative: advice,
                locked: advice,
                for_pipe: "it is written when somebody does",
            },
        )?;
        if holds_recording(path, &file) {
            return Err(Error::own(format!(
                "{display_path} is a recording, and the {noun} would replace it; \
                 give the file to write first: {command} {display_path}"
            )));
        }
        // A pipe or a device has nothing that would be lost.
        if file.metadata().is_ok_and(|data| Metadata::is_file(&data)) {
            file.set_len(0).map_err(|e| self.cannot_write(path, &e))?;
        }
        Ok(file)
    }

    /// The file cannot be written.
    pub fn cannot_write(&self, path: &Path, error: &io::Error) -> Error {
        cannot(&self.action(), path, error, ADVICE)
    }

    fn action(&self) -> String {
        format!("write the {} to", self.noun)
    }
}

/// The file is, or would be, one of those in the folder.
fn inside(run: &Path, output: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    let folder = output.parent().map(|p| if p.as_os_str().is_empty() { Path::new(".") } else { p });
    let there = real(output).or_else(|| real(folder?));
    run.is_dir() && real(run).zip(there).is_some_and(|(run, there)| there.starts_with(run))
}
