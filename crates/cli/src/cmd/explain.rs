//! `cutap explain`: likely problems of a recording or a run directory, the worst first. It only reads.

use crate::args::{FilterArgs, InputArgs, JsonArgs};
use crate::input::{readable, whole};
use crate::pager::Pager;
use crate::progress::Progress;
use crate::reading::read_events;
use crate::stdout::written;
use cutap_collect::{Result, filter, say, scan_executables};
use cutap_report::{Explain, end_line, end_notes};
use std::io::{self, BufWriter, Write};

#[derive(Debug, clap::Args)]
pub struct ExplainArgs {
    #[command(flatten)]
    filter: FilterArgs,
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
                explain.write_json(&mut out).and_then(|()| end_line(&end, &mut out))
            }
            false => explain.write_text(&mut out),
        };
        written(done.and_then(|()| out.flush()))?;
        if !json {
            // What was not recorded cannot be explained.
            end_notes(&end).iter().take(3).for_each(|note| say(note));
        }
        whole(&run, end.recording.clone(), end.damage())
    }
}
