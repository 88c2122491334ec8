//! `cutap export --parquet DIR`: the tables of each run, one run after the other.

use crate::input::missing_part;
use crate::inputs::{all_whole, inside, say_counted, say_filter_of_run};
use crate::progress::Progress;
use crate::reader_thread::write_all;
use cutap_collect::{Error, Result, cannot, file_size, print_notice, scan_executables};
use cutap_report::{Output, TableRows, end_notes};
use cutap_tables::{ColumnStream, RunName, TablesError, TablesFolder, TablesSource, TablesWriter, table_names};
use cutap_trace::{End, Filter, ReaderOptions, Runs, printable};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// What tables have, and what is said of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct TablesOptions {
    pub with_arguments: bool,
    /// Nothing is said of what is written: it is for one query.
    pub is_quiet: bool,
}

/// Writes the tables of all runs. A run that is not whole is exported as far as it can be read, and fails the command.
pub(super) fn export(folder: &Path, paths: &[PathBuf], filter: &Filter, options: TablesOptions) -> Result<()> {
    if let Some(run) = paths.iter().find(|run| inside(run, &folder.join("calls"))) {
        return Err(Error::own(format!(
            "{} is in the run directory {}, which is only read; give another directory",
            folder.display(),
            run.display()
        )));
    }
    let named = names(paths)?;
    let tables = TablesFolder::open(folder).map_err(|e| refused(folder, None, e))?;
    let mut all_read = Ok(());
    for (path, name) in paths.iter().zip(&named) {
        let of_run = export_run(folder, &tables, path, name, filter, options);
        match of_run {
            Ok(Ok(())) => {}
            // The tables have what could be read.
            Ok(Err(cut)) => {
                if let Err(before) = std::mem::replace(&mut all_read, Err(cut)) {
                    print_notice(&Error::to_string(&before));
                }
            }
            Err(e) => return Err(e),
        }
    }
    all_read
}

fn export_run(
    folder: &Path,
    tables: &TablesFolder,
    path: &Path,
    name: &RunName,
    filter: &Filter,
    options: TablesOptions,
) -> Result<Result<()>> {
    let refused = |e| refused(folder, Some(name), e);
    let runs = Runs::open(&[path.to_owned()])?;
    let writer = TablesWriter::begin(tables, name).map_err(refused)?;
    let mut rows = TableRows::new(writer, runs.host()?.name, options.with_arguments);
    let progress = Progress::of("exporting", &runs);
    let reading = ReaderOptions { filter: filter.clone(), ..ReaderOptions::default() };
    let (run_ends, written) = write_all(&runs, &reading, &mut rows)?;
    let mut all_ends: Vec<End> = run_ends.iter().map(|of| of.end.clone()).collect();
    all_ends.iter_mut().for_each(scan_executables);
    // Who reads the tables has not seen what this command says.
    let missing: Vec<String> =
        run_ends.iter().filter_map(|of| missing_part(&of.path, &of.end)).map(|(sentence, _)| sentence).collect();
    let notes_written = missing.iter().try_for_each(|sentence| rows.add_note(sentence));
    let written = written.and(notes_written).and_then(|()| rows.end_runs(&all_ends));
    let (mut writer, calls) = rows.finish();
    if let Some(error) = writer.take_error() {
        return Err(refused(error));
    }
    written.map_err(|e| cannot("write the tables to", folder, &e, ADVICE))?;
    let source = TablesSource { path: &path.to_string_lossy(), missing: &missing };
    let bytes = writer.finish(name, source).map_err(refused)?;
    drop(progress);
    if options.is_quiet {
        return Ok(all_whole(&run_ends));
    }
    let calls = if calls == 1 { "1 call is".to_owned() } else { format!("{calls} calls are") };
    let (folder_name, size) = (folder.to_string_lossy(), file_size(bytes));
    print_notice(&format!(
        "{calls} in {} as {} ({size}); in DuckDB: select * from '{}/calls/*/*/*.parquet'",
        printable(&folder_name),
        printable(&name.to_string()),
        printable(&folder_name.replace('\'', "''")),
    ));
    say_filter_of_run(&run_ends);
    all_ends.iter().flat_map(end_notes).for_each(|note| print_notice(&note));
    say_counted(&runs, &run_ends);
    Ok(all_whole(&run_ends))
}

/// Writes one table of all runs to stdout, one run after the other. A reader that leaves is a clean end.
pub(super) fn export_columns(table: &str, paths: &[PathBuf], filter: &Filter) -> Result<()> {
    let failed = |e: std::io::Error| match e.kind() {
        std::io::ErrorKind::BrokenPipe => Ok(()),
        _ => Err(Error::own(format!("cannot write the table to stdout: {e}"))),
    };
    let out = BufWriter::with_capacity(1 << 20, std::io::stdout());
    let mut stream = match ColumnStream::begin(table, out) {
        Ok(Some(stream)) => stream,
        Ok(None) => {
            let names = table_names().join(", ");
            return Err(Error::own(format!("there is no table {}; there are {names}", printable(table))));
        }
        Err(e) => return failed(e),
    };
    let mut all_read = Ok(());
    for path in paths {
        let runs = Runs::open(std::slice::from_ref(path))?;
        let mut rows = TableRows::new(stream, runs.host()?.name, true);
        let reading = ReaderOptions { filter: filter.clone(), ..ReaderOptions::default() };
        let (run_ends, written) = write_all(&runs, &reading, &mut rows)?;
        let mut all_ends: Vec<End> = run_ends.iter().map(|of| of.end.clone()).collect();
        all_ends.iter_mut().for_each(scan_executables);
        if let Err(e) = written.and_then(|()| rows.end_runs(&all_ends)) {
            return failed(e);
        }
        stream = rows.finish().0;
        if let Err(cut) = all_whole(&run_ends) {
            print_notice(&cut.to_string());
            all_read = Err(cut);
        }
    }
    stream.finish().or_else(failed).and(all_read)
}

const ADVICE: &str = "give a directory that you may write";

/// The names of runs in paths. Two runs with one name are refused before anything is written.
fn names(paths: &[PathBuf]) -> Result<Vec<RunName>> {
    let mut names: Vec<RunName> = Vec::new();
    for (path, rank) in paths.iter().zip(Runs::ranks(paths)?) {
        let name = RunName { run: run_name(path, rank), rank: rank.unwrap_or(0) };
        if names.contains(&name) {
            return Err(Error::own(format!(
                "two of the recordings would both be {}; rename one of them",
                printable(&name.to_string())
            )));
        }
        names.push(name);
    }
    Ok(names)
}

/// The name of the file without `.cutap`, and without the rank: `job` of `job.3.cutap`.
fn run_name(path: &Path, rank: Option<u32>) -> String {
    let real = std::fs::canonicalize(path);
    let name = real.as_deref().unwrap_or(path).file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let name = name.strip_suffix(".cutap").unwrap_or(&name);
    let digits = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let separator = ['.', '-', '_'];
    let is_rank = rank.is_some() && name.get(digits.len()..).and_then(|digits| digits.parse().ok()) == rank;
    let without = if is_rank { digits.trim_end_matches(separator) } else { name };
    let without =
        if is_rank { without.strip_suffix("rank").unwrap_or(without).trim_end_matches(separator) } else { without };
    // A file may be named by its end alone.
    let whole = if name.is_empty() { "cutap" } else { name };
    if without.is_empty() { whole.to_owned() } else { without.to_owned() }
}

/// The sentence of an error.
pub(super) fn refused(folder: &Path, name: Option<&RunName>, error: TablesError) -> Error {
    let (folder_name, name) = (folder.display(), name.map(|name| printable(&name.to_string()).into_owned()));
    let name = name.unwrap_or_default();
    match error {
        TablesError::OtherFiles(other) => Error::own(format!(
            "{folder_name} has other files, such as {}, and no tables of cutap; give an empty or a new directory",
            printable(&other)
        )),
        TablesError::Present => Error::own(format!(
            "{folder_name} has {name} already, which stays unchanged; rename the recording or give another directory"
        )),
        TablesError::Locked => Error::own(format!(
            "another cutap is writing {name} to {folder_name}; wait for it or give another directory"
        )),
        TablesError::File(path, error) => cannot("write the tables to", &path, &error, ADVICE),
    }
}
