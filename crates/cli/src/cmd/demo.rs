//! `cutap demo`: traces a small program of the driver API on the simulated driver. It needs nothing but the installed
//! binary: the program is `cutap` itself.

use crate::embedded::LIBRARIES;
use cutap_collect::{OWN_FAILURE, Result, TraceOptions, cannot, say};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Demo {
    /// Record the program into FILE instead, for show, report, explain and export
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "demo.cutap")]
    record: Option<PathBuf>,
}

impl Demo {
    pub fn run(self) -> Result<()> {
        let record = self.record.is_some();
        say(match record {
            true => "this is cutap record --sim -- PROG, with a small program that cutap brings along",
            false => "this is cutap trace --sim -- PROG, with a small program that cutap brings along",
        });
        let program = std::env::current_exe()
            .map_err(|e| cannot("find the program", &PathBuf::from("cutap"), &e, "start cutap by its path"))?;
        let options = TraceOptions {
            program: program.into(),
            args: vec!["__demo-program".into()],
            sim: true,
            record,
            output: self.record,
            ..TraceOptions::default()
        };
        let ended = cutap_collect::trace(LIBRARIES, &options)?;
        if !record {
            say(
                "next: cutap ./your-program; cutap demo --record writes a file for report and explain; cutap help lists the rest",
            );
        }
        ended.exit_like()
    }
}

/// The program: it allocates, copies, makes one mistake, and leaves one allocation behind.
pub fn program() -> Result<()> {
    let code = match make_calls() {
        Some(()) => 0,
        None => OWN_FAILURE.into(),
    };
    std::process::exit(code)
}

type Words6 = unsafe extern "C" fn(usize, usize, usize, usize, usize, usize) -> c_int;

/// A function of the driver; none if it is not there.
fn find(library: *mut c_void, name: &CStr) -> Option<Words6> {
    // SAFETY: a handle of dlopen and a name that ends at a zero.
    let address = unsafe { libc::dlsym(library, name.as_ptr().cast::<c_char>()) };
    // SAFETY: functions of the driver take at most six words here, and return an int.
    (!address.is_null()).then(|| unsafe { std::mem::transmute::<*mut c_void, Words6>(address) })
}

fn make_calls() -> Option<()> {
    // SAFETY: loads a library by name.
    let library = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW) };
    if library.is_null() {
        return None;
    }
    let call = |name: &CStr, words: &[usize]| -> Option<c_int> {
        let function = find(library, name)?;
        let word = |n: usize| words.get(n).copied().unwrap_or(0);
        // SAFETY: each call below passes the words that its function takes; pointers lead to words of this frame.
        Some(unsafe { function(word(0), word(1), word(2), word(3), word(4), word(5)) })
    };
    let (mut device, mut context, mut a, mut b, mut stream) = (0usize, 0usize, 0usize, 0usize, 0usize);
    let data = [1u8; 4096];
    let at = |word: &mut usize| std::ptr::from_mut(word) as usize;
    call(c"cuInit", &[0])?;
    call(c"cuDeviceGet", &[at(&mut device), 0])?;
    call(c"cuCtxCreate_v2", &[at(&mut context), 0, device])?;
    call(c"cuMemAlloc_v2", &[at(&mut a), data.len()])?;
    call(c"cuMemAlloc_v2", &[at(&mut b), 1 << 20])?;
    call(c"cuMemcpyHtoD_v2", &[a, data.as_ptr() as usize, data.len()])?;
    call(c"cuStreamCreate", &[at(&mut stream), 0])?;
    call(c"cuMemsetD8Async", &[b, 0, 1 << 20, stream])?;
    call(c"cuStreamSynchronize", &[stream])?;
    // More than there is: a trace marks the error.
    let mut none = 0usize;
    call(c"cuMemAlloc_v2", &[at(&mut none), 1 << 50])?;
    call(c"cuMemFree_v2", &[a])?;
    call(c"cuStreamDestroy_v2", &[stream])?;
    println!("demo: allocated and copied; {} bytes were not freed", 1 << 20);
    Some(())
}
