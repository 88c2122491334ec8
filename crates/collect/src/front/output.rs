//! Where a run is printed or recorded.

use crate::base::default_name::default_name;
use crate::base::error::{Error, Result};
use crate::collector::collector_options::CollectorOptions;
use crate::front::run::Run;
use crate::front::supervisor::CollectorSupervisor;
use crate::front::trace_options::TraceOptions;
use crate::output::output_file;
use crate::output::output_format::OutputFormat;
use crate::output::output_name::expand;
use crate::output::previous::Previous;
use crate::output::text_options::TextOptions;
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

/// The file that was named; a recording has a default name. None: standard error.
pub fn name(options: &TraceOptions) -> Result<Option<PathBuf>> {
    let named = options.output.as_deref().map(expand).transpose()?;
    Ok(named.or((options.record && options.output.is_none()).then(default_name)))
}

/// The open file of the output, and what becomes of a recording that stood there.
pub struct Output<'a> {
    pub named: Option<(&'a Path, File)>,
    /// The file is removed again if the program is not started.
    pub new_file: output_file::NewOutput<'a>,
    pub previous: Option<Previous>,
}

impl<'a> Output<'a> {
    /// Opens it. `used` must not be written over.
    pub fn open(named: Option<&'a Path>, options: &TraceOptions, used: &[&OsStr]) -> Result<Output<'a>> {
        let new = named.filter(|path| !path.exists());
        let open = |path| output_file::open(path, options.record, options.force, used);
        // What was there is emptied by the collector, when all stands that is needed.
        let (mut file, new_file) = (named.map(open).transpose()?, output_file::NewOutput(new));
        // A link keeps its place: what it leads to is written over.
        let is_default = options.record && options.output.is_none();
        let replaceable = named.filter(|path| is_default && !path.is_symlink());
        let mut previous = None;
        if let Some((path, there)) = replaceable.zip(file.take_if(|there| replaceable.is_some() && !is_empty(there))) {
            let (older, new) = Previous::begin_beside(path, there, options.force)?;
            (previous, file) = (Some(older), Some(new));
        }
        Ok(Output { named: named.zip(file), new_file, previous })
    }
}

fn is_empty(file: &File) -> bool {
    file.metadata().is_ok_and(|data| data.len() == 0)
}

/// What starts the collectors. `nvml`: the library that is asked for clocks; empty: they are not wanted.
pub fn supervisor(
    options: &TraceOptions,
    run: &Run,
    output: Option<(&Path, File)>,
    driver: bool,
    nvml: PathBuf,
) -> Result<CollectorSupervisor> {
    let named = output.as_ref().map(|(path, _)| path.to_path_buf());
    let output: OwnedFd = match output {
        Some((_, file)) => file.into(),
        None => std::io::stderr()
            .as_fd()
            .try_clone_to_owned()
            .map_err(|e| Error::own(format!("cannot write to standard error: {e}; write to a file with -o")))?,
    };
    let options_of_collector = CollectorOptions {
        run: run.path.clone(),
        filter: options.filter.clone(),
        form: OutputFormat { text: TextOptions { silent: options.silent, ..options.form.text }, ..options.form },
        kernel: options.kernel.clone(),
        driver,
        record: options.record,
        temporary: run.temporary,
        resumes: false,
        own_file: named.is_some(),
        spool: None,
        total: options.full.total().unwrap_or(0),
        nvml,
        on_hang_ns: options.on_hang.map_or(0, |limit| u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX)),
    };
    Ok(CollectorSupervisor::new(options_of_collector, output, named))
}
