//! The input of `decode`, `diff`, `tree`, `maps` and `census`: a recording or run directory of cutap, or a log.

use super::own;
use crate::input::whole;
use crate::reading::read_run;
use cutap_collect::{Result, filter, print_notice};
use cutap_kernel::show::text::footer;
use cutap_kernel::{Action, Head, Run, formats};
use cutap_report::{important_notes, kernel_call, submitted};
use cutap_trace::{Event, open_file};
use std::io::Read;
use std::path::Path;

/// What was read.
pub struct Input {
    /// The calls, in the order of their start.
    pub run: Run,
    /// A failure where a recording is damaged: what is missing of it. It belongs after the output.
    pub whole: Result<()>,
}

/// The kernel calls of a file or run directory. Of a log the lines that cannot be used are said.
pub fn read(path: &Path, wanted: Option<&str>) -> Result<Input> {
    if is_recording(path) {
        return read_recording(path, wanted);
    }
    let run = formats::read_file(path).map_err(own)?;
    footer(&run).lines().for_each(print_notice);
    Ok(Input { run, whole: Ok(()) })
}

fn read_recording(path: &Path, wanted: Option<&str>) -> Result<Input> {
    let (mut run, mut begin, mut driver) = (Run::default(), None, None);
    let end = read_run(path, filter(wanted)?, &mut |event| {
        if let Event::Exit(exit) = event {
            let begin = *begin.get_or_insert(exit.call.start_ns);
            if let Some(call) = kernel_call(exit, begin) {
                driver = driver.take().or_else(|| exit.call.pieces().driver);
                run.calls.push(call);
            }
            run.submitted.extend(submitted(exit));
        }
    })?;
    important_notes(&end).0.iter().for_each(|line| print_notice(line));
    run.head = Head { driver, source: Some("preload".into()), ..Head::default() };
    run.calls.sort_by_key(|call| call.time_ns);
    if run.calls.is_empty() {
        whole(path, &end)?;
        let display_path = path.display();
        return Err(cutap_collect::Error::own(match wanted {
            Some(wanted) => format!("{display_path}: no call to the kernel driver matches -e '{wanted}'; leave it out"),
            None => format!(
                "{display_path} has no calls to the kernel driver; record them with cutap record -e syscall PROG, on \
                 a machine with NVIDIA's driver (/dev/nvidiactl)"
            ),
        }));
    }
    Ok(Input { run, whole: whole(path, &end) })
}

/// A folder, or a file of cutap's own format.
fn is_recording(path: &Path) -> bool {
    let mut begins = [0; 5];
    path.is_dir()
        || open_file(path, false).and_then(|mut file| file.read_exact(&mut begins)).is_ok() && begins == *b"CUTAP"
}

/// Whether any ioctl is among them.
pub fn has_ioctl(run: &Run) -> bool {
    run.calls.iter().any(|call| matches!(call.action, Action::Ioctl(_)))
}
