//! `cutap show`: prints the calls of a run directory or a recording, while the program runs or later. It only reads, so
//! it shows the same again the next time.

use crate::args::{FilterArgs, InputArgs, OutputArgs};
use crate::input::{readable, say_counted, whole};
use crate::pager::Pager;
use crate::reader_thread::write_all;
use crate::stdout::written;
use cutap_collect::hooks::{crash_notes, not_called};
use cutap_collect::{Result, filter, output, say, scan_executables};
use cutap_trace::{End, EventReader, ReaderOptions};

#[derive(Debug, clap::Args)]
pub struct Show {
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    input: InputArgs,
}

impl Show {
    pub fn run(self) -> Result<()> {
        let (run, form) = (&self.input.run, self.output.format());
        let filter = filter(self.filter.text().as_deref())?;
        readable(run)?;
        let decode = !(form.summary || form.counts);
        let options = ReaderOptions { consume: false, filter, decode, ..ReaderOptions::default() };
        let mut reader = EventReader::open(run, options)?;
        let pager = (!form.json).then(Pager::start);
        let mut output = output(form, false);
        let lines = write_all(&mut reader, &mut *output)?;
        let mut end = None;
        let ended = lines.and_then(|()| output.tick(reader.horizon())).and_then(|()| {
            let end = end.insert(reader.end());
            scan_executables(end);
            output.end(end)
        });
        drop((output, pager));
        let recording = end.as_ref().map_or_else(|| reader.opened().recording(), |end| end.recording.clone());
        let whole = whole(run, recording, end.as_ref().map(End::damage).unwrap_or_default());
        if let Some(end) = end.filter(|_| !form.counts && !form.json) {
            say_counted(run, &end);
        }
        not_called(run).into_iter().chain(crash_notes(run, None)).for_each(|line| say(&line));
        written(ended)?;
        whole
    }
}
