//! `cutap diff`: compares the calls of two runs. Exit code 0: equal; 1: different; 125: cutap failed.

use crate::args::{FilterArgs, JsonArgs};
use crate::input::{NOTES, readable, whole};
use crate::pager::Pager;
use crate::progress::Progress;
use crate::reading::read_run;
use crate::stdout::written;
use cutap_collect::{Result, filter, print_notice};
use cutap_report::{Diff, Profile, important_notes};
use cutap_trace::End;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub struct DiffArgs {
    /// Compare times too: differences above 20 % and 1 ms
    #[arg(long)]
    times: bool,
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

impl DiffArgs {
    pub fn run(self) -> Result<()> {
        let DiffArgs { times, filter: wanted, json, a, b } = self;
        let filter = filter(wanted.text().as_deref())?;
        let read = |run: &Path| -> Result<(Profile, End)> {
            readable(run)?;
            let _progress = Progress::new(format!("reading {}", run.display()));
            let mut profile = Profile::default();
            let end = read_run(run, filter.clone(), &mut |event| profile.event(event))?;
            whole(run, end.recording.clone(), end.damage()).map(|()| (profile, end))
        };
        let names = [a.display().to_string(), b.display().to_string()];
        let ((a, a_end), (b, b_end)) = (read(&a)?, read(&b)?);
        let diff = Diff::new(&a, &b, times);
        let pager = (!json.json).then(Pager::start);
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout());
        let done =
            if json.json { diff.write_json(&mut out) } else { diff.write_text([&names[0], &names[1]], &mut out) };
        written(done.and_then(|()| out.flush()))?;
        drop((out, pager));
        for (name, end) in names.iter().zip([&a_end, &b_end]) {
            important_notes(end).0.iter().take(NOTES).for_each(|note| print_notice(&format!("{name}: {note}")));
        }
        let [a_filtered, b_filtered] = [&a_end, &b_end].map(|end| end.coverage.filter.is_some());
        if a_filtered != b_filtered && !diff.is_empty() {
            let name = &names[usize::from(b_filtered)];
            print_notice(&format!(
                "only {name} was recorded with a filter (-e): calls that it left out are differences here"
            ));
        }
        if diff.is_empty() { Ok(()) } else { std::process::exit(1) }
    }
}
