//! `cutap demo`: traces a small program of the driver API on the simulated driver, and reads a recording of a real run.
//! It needs nothing but the installed binary: the program is `cutap` itself, and the recording is embedded.

use crate::demo_recording;
use crate::embedded::LIBRARIES;
use cutap_collect::{DriverChoice, Error, OWN_FAILURE, Result, TextOptions, TraceOptions, cannot, print_notice};
use std::ffi::{CString, c_int, c_void};
use std::fs::File;
use std::os::fd::AsFd;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Demo {
    /// Record the program into FILE instead, for show, report, explain and export
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "demo.cutap")]
    record: Option<PathBuf>,
    /// Only write the recording of the real run into FILE
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "training.cutap", conflicts_with = "record")]
    recording: Option<PathBuf>,
}

impl Demo {
    pub fn run(self) -> Result<()> {
        if let Some(path) = self.recording {
            demo_recording::write(&path)?;
            let path = path.display();
            print_notice(&format!(
                "six training steps of PyTorch on an H200 are in {path}; next: cutap report --slowest {path}"
            ));
            return Ok(());
        }
        let record = self.record.is_some();
        print_notice(match record {
            true => "this is cutap record --sim -- PROG, with a small program that cutap brings along",
            false => "this is cutap trace --sim -- PROG, with a small program that cutap brings along",
        });
        // A trace gives standard output to its program.
        let lines = TextOptions::default();
        let form = (lines.format(), lines.is_coloured());
        let output = std::io::stdout().as_fd().try_clone_to_owned();
        let program = std::env::current_exe()
            .map_err(|e| cannot("find the program", &PathBuf::from("cutap"), &e, "start cutap by its path"))?;
        let options = TraceOptions {
            program: program.into(),
            args: vec!["__demo-program".into()],
            driver: DriverChoice::Simulated,
            record,
            output: self.record,
            ..TraceOptions::default()
        };
        let program_end = cutap_collect::trace(LIBRARIES, &options)?;
        if !record {
            print_notice("now a recording of a real run: six training steps of PyTorch on an H200");
            let mut output =
                output.map(File::from).map_err(|e| Error::own(format!("cannot write to standard output: {e}")))?;
            let path = demo_recording::write_demo()?;
            demo_recording::show(&path, form, &mut output)?;
            let path = path.display();
            print_notice(&format!(
                "the recording is in {path}; next: cutap report --slowest {path}, or cutap show {path}"
            ));
            print_notice("your program: cutap ./app; cutap help lists all commands");
        }
        program_end.exit_like()
    }
}

/// The calls of the program: it allocates, copies, makes one mistake, and leaves one allocation behind.
const CALLS: &str = include_str!("../../demo/program.txt");
/// Bytes that it copies.
static DATA: [u8; 4096] = [1; 4096];

/// The program, in the process that is traced.
pub fn program() -> Result<()> {
    let code = if make_calls().is_some() { 0 } else { OWN_FAILURE.into() };
    if code == 0 {
        println!("demo: allocated and copied; 1 MiB was not freed");
    }
    std::process::exit(code)
}

type SixWords = unsafe extern "C" fn(usize, usize, usize, usize, usize, usize) -> c_int;

/// Makes the calls; none if a function is missing, or a line is wrong.
fn make_calls() -> Option<()> {
    // SAFETY: loads a library by name.
    let library = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW) };
    if library.is_null() {
        return None;
    }
    let mut names: Vec<&str> = Vec::new();
    // Fixed in its place: calls write into it.
    let words = Box::leak(Box::new([0usize; 16]));
    for line in CALLS.lines().filter(|line| !line.starts_with('#')) {
        let mut parts = line.split_whitespace();
        let name = CString::new(parts.next()?).ok()?;
        let mut arguments = [0usize; 6];
        for (to, word) in arguments.iter_mut().zip(parts) {
            let name = word.trim_start_matches('&');
            *to = match (word.parse(), word) {
                (Ok(number), _) => number,
                (_, "@data") => DATA.as_ptr() as usize,
                _ => {
                    let at = names.iter().position(|known| *known == name).unwrap_or_else(|| {
                        names.push(name);
                        names.len() - 1
                    });
                    let place = words.get_mut(at)?;
                    if word.starts_with('&') { std::ptr::from_mut(place) as usize } else { *place }
                }
            };
        }
        // SAFETY: a handle of dlopen, and a name that ends at a zero.
        let address = unsafe { libc::dlsym(library, name.as_ptr()) };
        if address.is_null() {
            return None;
        }
        let [a, b, c, d, e, f] = arguments;
        // SAFETY: the functions of the list take at most six words and return an int; pointers lead to words that stay.
        unsafe { std::mem::transmute::<*mut c_void, SixWords>(address)(a, b, c, d, e, f) };
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_a_call_of_at_most_six_words() {
        let calls: Vec<_> = CALLS.lines().filter(|line| !line.starts_with('#')).collect();
        assert!(calls.len() > 8);
        for line in calls {
            let mut words = line.split_whitespace();
            assert!(cutap_calls::FUNCTIONS.contains(&words.next().unwrap()) && words.count() <= 6, "{line}");
        }
    }
}
