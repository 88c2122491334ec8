//! The input of `decode`, `diff`, `tree`, `maps` and `census`: a recording or run directory of cutap, or a log.

use super::own;
use cutap_collect::{Result, filter};
use cutap_kernel::{Action, Head, Run, formats};
use cutap_report::{kernel_call, submitted};
use cutap_trace::{Event, EventReader, ReaderOptions};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// All kernel calls of a file or run directory.
pub fn read_all(path: &Path) -> Result<Run> {
    read(path, None)
}

/// The kernel calls of a file or run directory, in the order of their start.
pub fn read(path: &Path, wanted: Option<&str>) -> Result<Run> {
    if !is_recording(path) {
        return formats::read_file(path).map_err(own);
    }
    let filter = filter(wanted)?;
    let mut reader = EventReader::open(path, ReaderOptions { filter, ..ReaderOptions::default() })?;
    let (mut run, mut begin, mut driver) = (Run::default(), None, None);
    reader.poll(true, &mut |event| {
        if let Event::Exit(exit) = event {
            let begin = *begin.get_or_insert(exit.call.start_ns);
            if let Some(call) = kernel_call(exit, begin) {
                driver = driver.take().or_else(|| exit.call.pieces().driver);
                run.calls.push(call);
            }
            run.submitted.extend(submitted(exit));
        }
    })?;
    run.head = Head { driver, source: Some("preload".into()), ..Head::default() };
    run.calls.sort_by_key(|call| call.time_ns);
    if run.calls.is_empty() {
        let shown = path.display();
        return Err(cutap_collect::Error::own(format!(
            "{shown} has no calls to the kernel driver; record them with cutap record -e kernel PROG, on \
             a machine with NVIDIA's driver (/dev/nvidiactl)"
        )));
    }
    Ok(run)
}

/// A folder, or a file of cutap's own format.
fn is_recording(path: &Path) -> bool {
    let mut begins = [0; 5];
    path.is_dir() || File::open(path).and_then(|mut file| file.read_exact(&mut begins)).is_ok() && begins == *b"CUTAP"
}

/// Whether any ioctl is among them.
pub fn has_ioctl(run: &Run) -> bool {
    run.calls.iter().any(|call| matches!(call.action, Action::Ioctl(_)))
}
