//! `cutap explain`: likely problems of a recording or a run directory, the worst first. It only reads.

use crate::args::{FilterArgs, InputArgs, JsonArgs};
use crate::input::{readable, say_notes, whole};
use crate::pager::Pager;
use crate::progress::Progress;
use crate::reading::read_events;
use crate::stdout::written;
use cutap_collect::{Result, filter, scan_executables};
use cutap_report::{Explain, end_line};
use std::io::{self, BufWriter, Write};

#[derive(Debug, clap::Args)]
pub struct ExplainArgs {
    #[command(flatten)]
    filter: FilterArgs,
    /// Also findings that take less than 1 % of the time, and more than ten
    #[arg(short, long)]
    all: bool,
    #[command(flatten)]
    json: JsonArgs,
    #[command(flatten)]
    input: InputArgs,
}

impl ExplainArgs {
    pub fn run(self) -> Result<()> {
        let (run, json) = (self.input.run, self.json.json);
        let filter = filter(self.filter.text().as_deref())?;
        readable(&run)?;
        let progress = Progress::reading(&run);
        let mut explain = Explain::default();
        let mut end = read_events(&run, filter, &mut |event| explain.event(event))?;
        drop(progress);
        let _pager = (!json).then(Pager::start);
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout());
        let done = match json {
            true => {
                scan_executables(&mut end);
                explain.write_json(self.all, &mut out).and_then(|()| end_line(&end, &mut out))
            }
            false => {
                let filtered = end.filtered.is_some() || end.unseen.by_filter;
                explain.write_text(&run.display().to_string(), filtered, self.all, &mut out)
            }
        };
        written(done.and_then(|()| out.flush()))?;
        if !json {
            // What was not recorded cannot be explained.
            say_notes(&run, &end);
        }
        whole(&run, end.recording.clone(), end.damage())
    }
}
