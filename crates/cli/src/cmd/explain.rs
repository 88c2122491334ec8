//! `cutap explain`: likely problems of a recording or a run directory, the worst first. It only reads.

use crate::args::{ExitCodeArgs, FilterArgs, InputArgs, JsonArgs};
use crate::inputs::{all_whole, named, say_notes};
use crate::pager::Pager;
use crate::progress::Progress;
use crate::reading::read_events;
use crate::stdout::written;
use cutap_collect::{Result, filter};
use cutap_report::Explain;
use cutap_trace::ReaderOptions;
use std::io::{self, BufWriter, Write};

#[derive(Debug, clap::Args)]
pub struct ExplainArgs {
    #[command(flatten)]
    filter: FilterArgs,
    /// Also findings that take less than 1 % of the time, and more than ten
    #[arg(short, long)]
    all: bool,
    #[command(flatten)]
    exit_code: ExitCodeArgs,
    #[command(flatten)]
    json: JsonArgs,
    #[command(flatten)]
    input: InputArgs,
}

impl ExplainArgs {
    pub fn run(self) -> Result<()> {
        let json = self.json.json;
        let filter = filter(self.filter.text().as_deref())?.during(self.input.window()?);
        let runs = self.input.open()?;
        let progress = Progress::reading(&runs);
        let mut explain = Explain::default();
        if self.input.names_process() {
            explain.runs_on();
        }
        let options = ReaderOptions { filter, ..ReaderOptions::default() };
        let run_ends = read_events(&runs, &options, &mut |event| explain.event(event))?;
        drop(progress);
        let pager = (!json).then(Pager::start);
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout());
        let done = match json {
            true => explain.write_json(self.all, &mut out),
            false => {
                let filtered = run_ends.iter().any(|of| of.end.filtered.is_some() || of.end.coverage.filter.is_some());
                explain.write_text(&named(&runs), filtered, self.all, &mut out)
            }
        };
        written(done.and_then(|()| out.flush()))?;
        drop((out, pager));
        // What was not recorded cannot be explained.
        say_notes(&runs, &run_ends);
        all_whole(&run_ends)?;
        self.exit_code.end(explain.problems(self.all) as u64, &run_ends)
    }
}
