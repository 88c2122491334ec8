//! `cutap diff`: compares the calls of two runs, and how their programs ended. Exit code 0: equal; 1: different; 125:
//! cutap failed, or it is not known because a recording lacks calls.

use crate::args::{FilterArgs, JsonArgs, WindowArgs, number};
use crate::derived_file::DerivedFile;
use crate::input::{NOTES, readable, whole};
use crate::pager::Pager;
use crate::reading::read_run;
use crate::run_filter::filter_of_runs;
use crate::stdout::written;
use clap::ValueEnum;
use clap::builder::PossibleValuesParser;
use cutap_collect::{Error, Result, file_size, print_notice};
use cutap_report::{
    Diff, DiffOptions, Profile, ProfileOptions, Rows, important_notes, missing_against, program_end_note,
};
use cutap_trace::{End, Filter, Runs};
use cutap_view::{About, Difference};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The file that `--html` writes.
const PAGE: DerivedFile = DerivedFile { noun: "page", verb: "drawn", command: "cutap diff --html FILE" };

#[derive(Debug, clap::Args)]
pub struct DiffArgs {
    /// Compare times too: differences above 20 % and 1 ms
    #[arg(long)]
    times: bool,
    /// Only functions that fail with a status more often in B than in A
    #[arg(long)]
    new_errors: bool,
    /// Handles of one kind are equal, as with threads whose order varies
    #[arg(long)]
    ignore_handles: bool,
    /// Compare the calls of each function of the program apart (runs recorded with --stack)
    #[arg(long, value_name = "NOUN")]
    by: Option<By>,
    /// Largest difference in COLUMN first, or by name
    #[arg(long, value_name = "COLUMN", value_parser = PossibleValuesParser::new(Diff::sort_columns()))]
    sort: Option<String>,
    /// Only the first N functions
    #[arg(long, value_name = "N", value_parser = number)]
    top: Option<usize>,
    /// Draw the differences as one page of HTML, in place of the text
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    html: Option<PathBuf>,
    #[command(flatten)]
    window: WindowArgs,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    json: JsonArgs,
    /// The first recording or run directory: in the output, A
    #[arg(value_name = "A")]
    a: PathBuf,
    /// The second one: in the output, B
    #[arg(value_name = "B")]
    b: PathBuf,
}

/// By what calls of a function are counted separately.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum By {
    /// The function of the program that makes the call
    Caller,
}

impl DiffArgs {
    pub fn run(self) -> Result<()> {
        let filter_text = self.filter.text();
        let window = self.window.window()?;
        let filter =
            filter_of_runs(filter_text.as_deref(), || Ok(vec![self.a.clone(), self.b.clone()]))?.during(window);
        let read = |run: &Path| -> Result<(Profile, End)> {
            readable(run)?;
            let options = ProfileOptions { ignores_handles: self.ignore_handles, by_caller: self.by.is_some() };
            let mut profile = Profile::new(options);
            let end = read_run(run, filter.clone(), &mut |event| profile.event(event))?;
            whole(run, &end).map(|()| (profile, end))
        };
        let names = [self.a.display().to_string(), self.b.display().to_string()];
        let ((a, a_end), (b, b_end)) = (read(&self.a)?, read(&self.b)?);
        // A filter by conditions alone, such as -Z, may select no call of runs that have some.
        let leaves_calls_out = |end: &End| end.filtered.as_ref().is_some_and(|filtered| filtered.filtered_out > 0);
        let has_calls = filter.rules().is_empty() && leaves_calls_out(&a_end) && leaves_calls_out(&b_end);
        if a.is_empty() && b.is_empty() && !has_calls {
            let selected_by = match (filter_text.as_deref(), window) {
                (Some(filter), _) => Some(format!("the filter {filter}")),
                (None, Some(_)) => Some("the time from --from to --to".to_owned()),
                (None, None) => None,
            };
            return Err(nothing_compared(selected_by.as_deref(), &names));
        }
        // Without a call of one run at all, each call of the other differs, or no error is new.
        for (name, profile, end) in [(&names[0], &a, &a_end), (&names[1], &b, &b_end)] {
            if profile.is_empty() && !leaves_calls_out(end) && window.is_none() {
                return Err(Error::own(format!(
                    "nothing was compared: {name} has no call; cutap report --notes {name} says what it lacks"
                )));
            }
        }
        if self.by.is_some() && !(a.has_callers() && b.has_callers()) {
            return Err(no_callers(filter_text.as_deref(), &names));
        }
        let mut changed_files = a_end.absent.iter().chain(&b_end.absent).map(|of| of.path.to_string());
        if self.by.is_some()
            && let Some(file) = changed_files.next()
        {
            return Err(Error::own(format!(
                "--by caller needs the names of functions, and {file} is not there as it was recorded; compare without \
                 --by, or keep each build of the program at a separate path"
            )));
        }
        let sort = Diff::sort_columns().into_iter().find(|column| self.sort.as_deref() == Some(*column));
        let rows = Rows { sort, top: self.top, depth: None };
        let diff = Diff::new(&a, &b, DiffOptions { times: self.times, new_errors: self.new_errors, rows })
            .with_program_ends(a_end.coverage.program_end, b_end.coverage.program_end);
        match &self.html {
            Some(file) => {
                // The page has times anyway, and room for all rows.
                let options = DiffOptions { times: true, new_errors: self.new_errors, rows: Rows::default() };
                let drawn = Diff::new(&a, &b, options)
                    .with_program_ends(a_end.coverage.program_end, b_end.coverage.program_end);
                self.draw(file, &names, &filter, &drawn)?;
            }
            None => self.print(&diff, &names)?,
        }
        for (name, end) in names.iter().zip([&a_end, &b_end]) {
            // One line says how both ended.
            let own_end = program_end_note(end).filter(|_| diff.program_ends_differ());
            let notes = important_notes(end).0;
            let notes = notes.iter().filter(|note| Some(*note) != own_end.as_ref()).take(NOTES);
            notes.for_each(|note| print_notice(&format!("{name}: {note}")));
        }
        all_calls_compared(&names, [&a_end, &b_end])?;
        if diff.is_empty() { Ok(()) } else { std::process::exit(1) }
    }
}

impl DiffArgs {
    fn print(&self, diff: &Diff<'_>, [a, b]: &[String; 2]) -> Result<()> {
        let json = self.json.json;
        let _pager = (!json).then(Pager::start);
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout());
        let result = if json { diff.write_json(&mut out) } else { diff.write_text([a, b], &mut out) };
        written(result.and_then(|()| out.flush()))
    }

    /// Writes the page.
    fn draw(&self, path: &Path, names: &[String; 2], filter: &Filter, diff: &Diff<'_>) -> Result<()> {
        let mut difference = Difference::default();
        for (run, calls) in [&self.a, &self.b].into_iter().zip(difference.calls()) {
            Runs::open(std::slice::from_ref(run))?.calls(filter, calls)?;
        }
        let file = PAGE.open(&Runs::open(&[self.a.clone(), self.b.clone()])?, path)?;
        let about = About {
            runs: names.to_vec(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            filter: self.filter.text(),
            ..About::default()
        };
        let written = difference.finish(&about, diff).and_then(|page| {
            page.write(&mut BufWriter::with_capacity(1 << 18, &file))?;
            Ok(file.metadata()?.len())
        });
        let size = written.map_err(|e| PAGE.cannot_write(path, &e))?;
        print_notice(&format!("the differences are in {} ({}); open it in a browser", path.display(), file_size(size)));
        Ok(())
    }
}

/// No call that was compared has a stack. A stack belongs to the call that the program makes itself.
fn no_callers(filter: Option<&str>, [a, b]: &[String; 2]) -> Error {
    let calls = match filter {
        Some(filter) => format!("no call of the filter {filter} in {a} or {b}"),
        None => format!("no call of {a} or {b}"),
    };
    let advice = match filter {
        Some(_) => {
            "stacks belong to the calls that the program makes itself: choose the runtime, or use record --stack"
        }
        None => "record both with --stack",
    };
    Error::own(format!("--by caller needs stacks, and {calls} has one; {advice}"))
}

/// Two runs without a call are equal, which says nothing of the program. `selected_by`: what may have left calls out.
fn nothing_compared(selected_by: Option<&str>, [a, b]: &[String; 2]) -> Error {
    Error::own(match selected_by {
        Some(selection) => {
            format!("nothing was compared: {selection} selects no call of {a} and none of {b}; give another one")
        }
        None => {
            format!("nothing was compared: neither {a} nor {b} has a call; cutap report --notes {a} says what it lacks")
        }
    })
}

/// Fails if a run lacks calls that the other may have: then differences, or their absence, prove nothing.
fn all_calls_compared(names: &[String; 2], [a, b]: [&End; 2]) -> Result<()> {
    let missing = [missing_against(a, b), missing_against(b, a)];
    let lacking = names.iter().zip(missing).filter_map(|(name, missing)| Some(format!("{name} ({})", missing?)));
    match lacking.collect::<Vec<_>>().join(" and ") {
        none if none.is_empty() => Ok(()),
        lacking => Err(Error::own(format!(
            "whether the runs differ is not known, for these lack calls: {lacking}; record both whole, or both with \
             one filter"
        ))),
    }
}
