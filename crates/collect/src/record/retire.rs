//! Forgets processes that have ended, once the recording has all of them.

use super::process::Round;
use super::recorder::Recorder;
use std::io;

/// So many are forgotten together.
const TOGETHER: usize = 32;

impl Recorder {
    /// Writes the rest of processes that have ended, and forgets them. The result is the names of their folders.
    /// `has_ended` says that no process uses a folder any more. An error is the file's.
    pub fn retire(
        &mut self,
        has_ended: &mut dyn FnMut(&str) -> bool,
        beat: &mut dyn FnMut(),
    ) -> io::Result<Vec<String>> {
        if self.processes.iter().filter(|process| process.is_left()).count() < TOGETHER {
            return Ok(Vec::new());
        }
        let round = Round { last: true, consume: self.consume, parts: false };
        let mut names = Vec::new();
        for mut process in std::mem::take(&mut self.processes) {
            if process.is_left() && has_ended(&process.name) {
                // No process writes there any more, so this is all.
                process.round(&self.run, &mut self.writer, round, &mut self.batch, beat)?;
                self.retired.add(process.rings.values_mut());
                names.push(process.name);
            } else {
                self.processes.push(process);
            }
        }
        Ok(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collector::ended_folders::EndedFolders;
    use cutap_trace::synthetic::Run;
    use cutap_trace::{Event, EventReader, ReaderOptions, RunPath};
    use std::fs::File;
    use std::path::Path;

    /// Processes that have ended, each of which called once. The number is none of a process of this machine.
    fn end(run: &Run, numbers: std::ops::Range<u32>) {
        for n in numbers {
            let mut process = run.process(0x3fff_0000 + n, "/bin/prog");
            process.driver(&["cuInit"]);
            let mut thread = process.thread(0x3fff_0000 + n, 2);
            thread.call(0, &[u64::from(n)], 5, 0);
            thread.end();
            run.wait(100);
        }
    }

    fn calls(file: &Path) -> usize {
        let (mut calls, mut reader) = (0, EventReader::open(file, ReaderOptions::default()).unwrap());
        reader.poll(true, &mut |event: &Event| calls += usize::from(matches!(event, Event::Exit(_)))).unwrap();
        let end = reader.end();
        assert_eq!((end.processes.all.len(), end.missing.chunks_lost, end.missing.nameless), (calls, 0, 0));
        calls
    }

    #[test]
    fn processes_that_have_ended_are_in_the_recording_and_nowhere_else() {
        let scratch = tempfile::tempdir().unwrap();
        let (path, file) = (scratch.path().join("run"), scratch.path().join("run.cutap"));
        let run = Run::new(&path);
        let mut recorder = Recorder::begin(&path, File::create(&file).unwrap(), true).unwrap();
        let mut folders = EndedFolders::new(&RunPath::open(&path).unwrap(), true);
        for round in 0..4 {
            end(&run, round * 40..(round + 1) * 40);
            recorder.discover();
            recorder.round(false, &mut || ()).unwrap();
            let ended = recorder.retire(&mut |name| folders.has_ended(name), &mut || ()).unwrap();
            folders.replace(&ended);
            assert!(recorder.processes.len() < TOGETHER, "round {round}: {} are kept", recorder.processes.len());
        }
        let folders = std::fs::read_dir(&path).unwrap().flatten().filter(|entry| entry.path().is_dir()).count();
        assert!(folders < TOGETHER, "{folders} folders are left");
        recorder.round(true, &mut || ()).unwrap();
        assert_eq!((recorder.read(), recorder.copied().1, recorder.damage().parts), ((160, 160), 0, 0));
        recorder.end().unwrap();
        assert_eq!(calls(&file), 160);
    }

    /// The calls of a live trace, and what its end says.
    #[test]
    fn a_live_trace_forgets_them_too() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("run");
        let run = Run::new(&path);
        end(&run, 999..1000);
        let options = ReaderOptions { consume: true, hold_back_ns: 0, ..ReaderOptions::default() };
        let mut reader = EventReader::open(&path, options).unwrap();
        let mut folders = EndedFolders::new(&RunPath::open(&path).unwrap(), true);
        let (mut exits, mut gone) = (0, 0);
        for round in 0..8 {
            if round < 4 {
                end(&run, round * 40..(round + 1) * 40);
            }
            // Time enough for the folder to be listed again.
            let now = 2_000_000_000 + u64::from(round) * 1_000_000_000;
            let mut count = |event: &Event| exits += usize::from(matches!(event, Event::Exit(_)));
            reader.poll_at(now, false, &mut count).unwrap();
            reader.give_back(false);
            let ended = reader.retire(&mut |name| folders.has_ended(name));
            gone += ended.len();
            folders.replace(&ended);
        }
        assert!(gone > 161 - TOGETHER, "{gone} were forgotten");
        reader.poll(true, &mut |event: &Event| exits += usize::from(matches!(event, Event::Exit(_)))).unwrap();
        let end = reader.end();
        assert_eq!((exits, end.processes.all.len(), end.rings, end.missing.chunks_lost), (161, 161, 161, 0));
    }
}
