//! What show, report, export and recover read: a run directory or a recording. Whether it can be read, and whether all
//! of it was.

use cutap_collect::record::{FolderScan, damaged_parts, read_by_another, without_end};
use cutap_collect::{Error, Result, cannot, not_ours, of_ranks, output_file, print_notice};
use cutap_trace::{End, RecordingCoverage, RunPath, Why, open_file};
use std::io::{ErrorKind, Read};
use std::path::Path;

/// What is not there is neither a file nor a folder; a folder that can be listed while its files cannot be read would
/// look empty.
pub fn readable(run: &Path) -> Result<()> {
    let advice =
        "give the file that cutap record -o FILE made, or the folder of cutap env -o DIR or cutap trace --run-dir DIR";
    match std::fs::metadata(run) {
        Err(e) if e.kind() == ErrorKind::NotFound => {
            let ranks = of_ranks(run);
            let advice = match &ranks[..] {
                [] => advice.to_owned(),
                [rank] => format!("there is {}: give that", rank.display()),
                [first, .., last] => {
                    format!(
                        "there are {} to {}, of the ranks of a job: give them all, or one of them",
                        first.display(),
                        last.display()
                    )
                }
            };
            return Err(cannot("read", run, &e, &advice));
        }
        Ok(data) if !data.is_file() && !data.is_dir() => {
            let run = run.display();
            return Err(Error::own(format!(
                "cannot read {run}: it is a pipe or a device, and a recording is not read from front to back; put it into a file"
            )));
        }
        Ok(data) if data.is_file() && is_answer(run) => {
            let run = run.display();
            return Err(Error::own(format!("{run} is an answer of cutap where --json; cutap where {run} reads it")));
        }
        Ok(data) if data.is_file() && data.len() == 0 && output_file::is_locked(run) => {
            let run = run.display();
            return Err(Error::own(format!(
                "{run} is being written, and nothing stands in it yet; read it again later"
            )));
        }
        _ => {}
    }
    let unusable =
        |e| Err(cannot("read the control page of the run directory", run, &e, "give the folder as cutap made it"));
    match RunPath::open(run).and_then(|run| run.join(cutap_wire::control::FILE).open_file(false)) {
        Err(e) if e.kind() == ErrorKind::PermissionDenied => Err(not_ours(run, &e)),
        // A folder without one holds what its processes wrote; and a file has none.
        Err(e) if e.kind() != ErrorKind::NotFound && run.is_dir() => unusable(e),
        _ => Ok(()),
    }
}

/// Whether a file is what `cutap where --json` printed.
fn is_answer(path: &Path) -> bool {
    let head = br#"{"type":"where""#;
    let mut first = [0; 15];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut first));
    read.is_ok() && first == *head
}

/// Notes of an answer that are printed in full.
pub const NOTES: usize = 3;

/// Whether a recording ends in order by now: a collector has written its end since it was read.
fn has_its_end(path: &Path) -> bool {
    let walked = open_file(path, false).map(|file| cutap_file::walk(&file, cutap_wire::VERSION, &mut |_, _| ()));
    walked.is_ok_and(|walked| walked.is_ok_and(|cut| cut.why == cutap_file::Why::Ended))
}

/// Fails, with what is missing, if a recording or a run directory could not be read whole.
/// One that is being written is none.
pub fn whole(path: &Path, end: &End) -> Result<()> {
    match missing_part(path, end) {
        None => Ok(()),
        Some((sentence, true)) => {
            print_notice(&sentence);
            Ok(())
        }
        Some((sentence, false)) => Err(Error::own(sentence)),
    }
}

/// What is missing of a recording or a run directory, and whether that is because it is being written.
pub fn missing_part(path: &Path, end: &End) -> Option<(String, bool)> {
    let (display_path, recording, damage) = (path.display(), end.recording.clone(), end.damage());
    let Some(RecordingCoverage { cut, damaged, completed, holes, read_before, unread }) = recording else {
        // What the look cannot open is not said to be damaged.
        if let Some(short) = &end.missing.unopened {
            return Some((format!("{display_path} was not read whole: {short}; mend that and try it again"), false));
        }
        let unread = FolderScan::at(path).unread().filter(|_| path.is_dir());
        let unread = unread.map(|files| format!("what could not be read is {files}"));
        let damaged = (damage.parts > 0).then(|| format!("{}{}", damaged_parts(damage.parts), damage.lost));
        let lacks: Vec<String> = damaged.into_iter().chain(unread).collect();
        if lacks.is_empty() {
            return None;
        }
        let lacks = lacks.join("; ");
        return Some((format!("{display_path} is damaged, and all else in it was read: {lacks}"), false));
    };
    let blocks = if damaged == 1 { "1 block".to_owned() } else { format!("{damaged} blocks") };
    let unended = matches!(cut.why, Why::Open | Why::CutOff);
    let in_writing = unended && (output_file::is_locked(path) || has_its_end(path));
    // A block that is just being written is not cut off.
    let open = cut.why == Why::Open || in_writing;
    let holes = match holes {
        0 => None,
        1 => Some(format!("1 part of its calls is missing{}", damage.lost)),
        _ => Some(format!("{holes} parts of its calls are missing{}", damage.lost)),
    };
    let lacks = [
        holes,
        (read_before > 0).then(|| read_by_another(read_before)),
        unread.map(|files| format!("what could not be read in its run directory: {files}")),
    ];
    let lacks: Vec<String> = lacks.into_iter().flatten().collect();
    let sentence = match cut.why {
        Why::Ended | Why::Open if damaged > 0 => {
            format!("{display_path} is damaged: {blocks} cannot be read, and the calls or names in there are missing")
        }
        _ if completed.is_some() && (open || cut.why == Why::Ended) => {
            let (at, parts) = completed.unwrap_or_default();
            let lost = match parts {
                0 => "what had stood behind may be missing".to_owned(),
                1 => "1 part of the calls that had stood behind is missing".to_owned(),
                n => format!("{n} parts of the calls that had stood behind are missing"),
            };
            format!("{display_path} was cut off at byte {at} before cutap recover added to it: {lost}")
        }
        _ if !lacks.is_empty() && (open || cut.why == Why::Ended) => {
            format!("{display_path} is not all there was: {}", lacks.join("; "))
        }
        Why::Ended => return None,
        _ if in_writing => {
            return Some((format!("{display_path} is being written: what stood there by now was read"), true));
        }
        Why::Open => without_end(path, cut.at),
        _ if damaged > 0 => {
            format!("{display_path} is damaged: {blocks} cannot be read, and nothing behind byte {} was read", cut.at)
        }
        Why::Damaged => format!("{display_path} is damaged at byte {}; what follows was not read", cut.at),
        Why::CutOff if cut.at == 0 => {
            format!("{display_path} is cut off within its first 24 bytes, and nothing is left of it")
        }
        Why::CutOff => format!("{display_path} is cut off; what stands before byte {} was read", cut.at),
    };
    Some((sentence, false))
}
