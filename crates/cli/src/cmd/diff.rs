//! `cutap diff`: compares the calls of two runs. Exit codes are those of diff: 0 equal, 1 different, 2 trouble.

use crate::args::{FilterArgs, JsonArgs};
use crate::input::{readable, whole};
use crate::pager::Pager;
use crate::progress::Progress;
use crate::reading::read_events;
use crate::stdout::written;
use cutap_collect::{Error, Result, filter, say};
use cutap_report::{Diff, Profile};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Exit code when something went wrong.
const TROUBLE: u8 = 2;

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
        let filter = filter(wanted.text().as_deref()).map_err(trouble)?;
        let read = |run: &Path| -> Result<(Profile, bool)> {
            readable(run)?;
            let _progress = Progress::reading(run);
            let mut profile = Profile::default();
            let end = read_events(run, filter.clone(), &mut |event| profile.event(event))?;
            whole(run, end.recording.clone(), end.damage()).map(|()| (profile, end.unseen.by_filter))
        };
        let names = [a.display().to_string(), b.display().to_string()];
        let ((a, a_filtered), (b, b_filtered)) = (read(&a).map_err(trouble)?, read(&b).map_err(trouble)?);
        let diff = Diff::new(&a, &b, times);
        let pager = (!json.json).then(Pager::start);
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout());
        let done =
            if json.json { diff.write_json(&mut out) } else { diff.write_text([&names[0], &names[1]], &mut out) };
        written(done.and_then(|()| out.flush())).map_err(trouble)?;
        drop((out, pager));
        if a_filtered != b_filtered && !diff.is_empty() {
            let name = &names[usize::from(b_filtered)];
            say(&format!("only {name} was recorded with a filter (-e): calls that it left out are differences here"));
        }
        if diff.is_empty() { Ok(()) } else { std::process::exit(1) }
    }
}

fn trouble(error: Error) -> Error {
    Error { code: TROUBLE, ..error }
}
