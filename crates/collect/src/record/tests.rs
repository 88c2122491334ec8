//! A recording holds the data of its run directory, also when it was made in many rounds. A cut or damaged part takes
//! no other part away, and any bytes can be read.

use super::Recorder;
use crate::options::overflow_policy::OverflowPolicy;
use crate::options::stacks::StackCapture;
use crate::run_dir::control::{self, RunSettings};
use cutap_trace::synthetic::{Process, Run};
use cutap_trace::{Event, EventReader, ReaderOptions, Why};
use cutap_wire::control::Control;
use std::fs::{self, File, OpenOptions};
use std::mem::offset_of;
use std::path::Path;

/// Each call that began or ended, and what is known at the end.
fn read(run: &Path) -> (Vec<String>, String) {
    let mut follow = EventReader::open(run, ReaderOptions::default()).unwrap();
    let mut lines = Vec::new();
    let polled = follow.poll(true, &mut |event: &Event| match event {
        Event::Enter(call) => lines.push(format!("{} > {} {}", call.thread.tid, call.function.name, call.start_ns)),
        Event::Exit(exit) => {
            lines.push(format!("{} < {} {}", exit.call.thread.tid, exit.call.function.name, exit.result))
        }
        _ => {}
    });
    polled.unwrap();
    let end = follow.end();
    (
        lines,
        format!(
            "{:?} {} {} {:?}",
            end.unfinished.len(),
            end.missing.chunks_lost,
            end.missing.nameless,
            end.diagnostics.counts
        ),
    )
}

/// A little of all: two threads, a call that never ends, more than one chunk.
fn some_calls(run: &Run, process: &mut Process) {
    process.driver(&["f0", "f1"]);
    let (mut one, mut two) = (process.thread(101, 8), process.thread(102, 8));
    for n in 0..120 {
        one.call(0, &[n, n + 1], 5, 0);
        two.call(1, &[n], 7, n % 3);
        run.wait(100);
    }
    one.enter(1, &[5]);
    process.count(3, 17);
}

fn finish(run: &Path, file: &Path) {
    let mut recorder = Recorder::begin(run, File::create(file).unwrap(), false).unwrap();
    recorder.round(true, &mut || ()).unwrap();
    recorder.end().unwrap();
}

/// What a call of ten nanoseconds took, of a process whose counter makes four ticks in one and does not say so.
fn of_an_unstated_rate(run: &Path, stated: u64, file: &Path) -> (Option<u64>, u64) {
    let made = Run::with_clock(run, 4);
    let mut process = made.process(100, "/bin/prog");
    process.driver(&["f0"]);
    process.thread(101, 8).call(0, &[], 10, 0);
    let page = run.join("p100-0/process");
    let mut bytes = fs::read(&page).unwrap();
    let at = offset_of!(cutap_wire::process::Process, ticks_per_second);
    bytes[at..at + 8].fill(0);
    fs::write(&page, bytes).unwrap();
    let mut control = vec![0; cutap_wire::PAGE];
    control[..8].copy_from_slice(&cutap_wire::MAGIC.to_le_bytes());
    control[8..12].copy_from_slice(&cutap_wire::VERSION.to_le_bytes());
    let at = offset_of!(Control, ticks_per_second);
    control[at..at + 8].copy_from_slice(&stated.to_le_bytes());
    fs::write(run.join(cutap_wire::control::FILE), control).unwrap();
    finish(run, file);
    let (mut took, mut rate) = (None, Vec::new());
    let mut follow = EventReader::open(file, ReaderOptions::default()).unwrap();
    let mut sink = |event: &Event| {
        if let Event::Exit(exit) = event {
            took = exit.duration_ns;
        }
    };
    follow.poll(true, &mut sink).unwrap();
    let file = File::open(file).unwrap();
    let mut block = None;
    let mut last = |found: &cutap_file::Block, _: &[u8]| {
        if found.kind == cutap_file::kind::CONTROL {
            block = Some(*found);
        }
    };
    cutap_file::walk(&file, cutap_wire::VERSION, &mut last).unwrap();
    cutap_file::body(&file, &block.unwrap(), &mut rate).unwrap();
    rate.resize(cutap_wire::PAGE, 0);
    (took, u64::from_le_bytes(rate[at..].first_chunk().copied().unwrap_or_default()))
}

#[test]
fn a_short_recording_is_read_with_the_rate_of_where_it_was_made() {
    let folder = tempfile::tempdir().unwrap();
    let (path, file) = (folder.path().join("run"), folder.path().join("run.cutap"));
    assert_eq!(of_an_unstated_rate(&path, 4_000_000_000, &file), (Some(10), 4_000_000_000));
    // Nobody measured: whoever makes the file does, here.
    let (took, rate) = of_an_unstated_rate(&folder.path().join("other"), 0, &file);
    let read_again = |took: Option<u64>| took.is_some_and(|ns| ns.abs_diff(40_000_000_000 / rate) <= 1);
    assert!(rate > 100_000_000 && read_again(took), "{took:?} at {rate}");
}

#[test]
fn says_what_the_folder_says_cut_off_anywhere() {
    let folder = tempfile::tempdir().unwrap();
    let (path, file) = (folder.path().join("run"), folder.path().join("run.cutap"));
    let run = Run::new(&path);
    some_calls(&run, &mut run.process(100, "/bin/prog"));
    finish(&path, &file);
    let all = read(&path);
    assert_eq!(read(&file), all);
    assert!(all.0.len() == 2 * 240 + 1 && all.1.starts_with("1 0 0"), "{all:?}");

    let whole = fs::read(&file).unwrap();
    let mut most = 0;
    for len in (24..whole.len()).step_by(7) {
        fs::write(&file, &whole[..len]).unwrap();
        let follow = EventReader::open(&file, ReaderOptions::default()).unwrap();
        assert_ne!(follow.run_reader().recording().unwrap().cut.why, Why::Ended);
        let (lines, _) = read(&file);
        assert!(lines.len() >= most && lines.iter().all(|l| all.0.contains(l)), "{len}");
        most = lines.len();
    }
    assert_eq!(most, all.0.len());
    for byte in (24..whole.len()).step_by(11) {
        let mut damaged = whole.clone();
        damaged[byte] ^= 0x55;
        fs::write(&file, &damaged).unwrap();
        // Calls whose names are damaged have numbers.
        let (lines, end) = read(&file);
        assert!(lines.len() <= all.0.len(), "{byte}");
        let follow = EventReader::open(&file, ReaderOptions::default()).unwrap();
        let said = follow.run_reader().recording().unwrap().cut.why != Why::Ended
            || follow.run_reader().recording().unwrap().damaged > 0;
        assert!(said || (lines, end) != all || whole[byte..byte + 1] == [0], "{byte}");
    }
}

#[test]
fn round_by_round_and_taken_up_again() {
    let folder = tempfile::tempdir().unwrap();
    let (path, file) = (folder.path().join("run"), folder.path().join("run.cutap"));
    let run = Run::new(&path);
    let mut process = run.process(100, "/bin/prog");
    process.driver(&["f0"]);
    let mut thread = process.thread(101, 3);
    let mut recorder = Recorder::begin(&path, File::create(&file).unwrap(), true).unwrap();
    for n in 0..1000 {
        thread.call(0, &[n], 5, 0);
        if n % 50 == 0 {
            recorder.round(false, &mut || ()).unwrap();
        }
    }
    // The collector is killed, in the middle of a block.
    drop(recorder);
    fs::write(&file, [&fs::read(&file).unwrap()[..], b"CBLK\x06"].concat()).unwrap();
    assert!((1..2000).contains(&read(&file).0.len()));
    for calls in [1000, 1000, 1001] {
        if calls > 1000 {
            thread.call(0, &[1000], 5, 0);
        }
        let opened = OpenOptions::new().read(true).write(true).open(&file).unwrap();
        let mut again = Recorder::go_on(&path, opened, &file, false).unwrap();
        again.discover();
        assert!(!again.other_run());
        again.round(true, &mut || ()).unwrap();
        again.end().unwrap();
        assert_eq!(read(&file).0.len(), 2 * calls);
    }
}

#[test]
fn another_run_is_not_added() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two, file) = (folder.path().join("one"), folder.path().join("two"), folder.path().join("run.cutap"));
    let (first, second) = (Run::new(&one), Run::new(&two));
    second.wait(5);
    some_calls(&first, &mut first.process(100, "/bin/prog"));
    some_calls(&second, &mut second.process(100, "/bin/prog"));
    finish(&one, &file);
    let opened = OpenOptions::new().read(true).write(true).open(&file).unwrap();
    let mut recorder = Recorder::go_on(&two, opened, &file, false).unwrap();
    recorder.discover();
    assert!(recorder.other_run());
}

/// Their processes have other names, as when each has another process number.
#[test]
fn another_run_with_other_processes_is_not_added() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two, file) = (folder.path().join("one"), folder.path().join("two"), folder.path().join("run.cutap"));
    let filter = crate::options::filter::filter(None).unwrap();
    for (path, pid) in [(&one, 100), (&two, 200)] {
        let run = Run::new(path);
        let wanted = RunSettings {
            filter: &filter,
            no_follow: false,
            dump_modules: false,
            full: OverflowPolicy::Wait,
            only_hooks: false,
            range: None,
            count: false,
            summary: false,
            stacks: &StackCapture::default(),
            python: None,
            off: false,
            gpu_time: false,
            answers_driver: false,
            count_chatter: false,
            driver: crate::DriverChoice::Installed,
        };
        // A number of which most is zero, as one in some hundred is.
        let mut page = control::page(wanted).unwrap();
        page[offset_of!(Control, run)..][..8].copy_from_slice(&u64::from(pid).to_le_bytes());
        control::write(&cutap_trace::RunPath::open(path).unwrap(), &page, &cutap_trace::Filter::default()).unwrap();
        some_calls(&run, &mut run.process(pid, "/bin/prog"));
    }
    finish(&one, &file);
    for (run, other) in [(&one, false), (&two, true)] {
        let opened = OpenOptions::new().read(true).write(true).open(&file).unwrap();
        let mut recorder = Recorder::go_on(run, opened, &file, false).unwrap();
        recorder.discover();
        assert_eq!(recorder.other_run(), other, "{}", run.display());
    }
}

/// Nobody said that its threads have ended: a folder's reader takes them for alive, a recording's cannot know.
#[test]
fn a_recording_says_of_nobody_that_it_runs() {
    let folder = tempfile::tempdir().unwrap();
    let (path, file) = (folder.path().join("run"), folder.path().join("run.cutap"));
    let run = Run::new(&path);
    some_calls(&run, &mut run.process(100, "/bin/prog"));
    finish(&path, &file);
    for (from, running) in [(&path, 1), (&file, 0)] {
        let mut follow = EventReader::open(from, ReaderOptions::default()).unwrap();
        follow.poll(true, &mut |_| ()).unwrap();
        assert_eq!(follow.end().processes.running.len(), running, "{}", from.display());
    }
}
