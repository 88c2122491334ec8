//! `cutap syscall trace --ptrace` and `-p`: the calls of a program or process to the kernel driver, from outside.

use super::args::DriverArgs;
use super::own;
use cutap_collect::{Error, Result, cannot, forward_signals, output_file, print_notice, start_outside};
use cutap_kernel::decode::{Decoder, running_driver};
use cutap_kernel::formats::is_of_driver;
use cutap_kernel::ptrace::{self, Missed, TraceeEnd, Tracer};
use cutap_kernel::select::Select;
use cutap_kernel::show::printer::{CallPrinter, Form};
use cutap_kernel::show::text::Style;
use cutap_kernel::{Action, Head, KernelCall, Run};
use std::ffi::{OsStr, OsString};
use std::io::{self, LineWriter, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// A trace by ptrace.
pub struct Outside {
    /// Which calls are printed.
    pub select: Select,
    /// Of this process; none: of a program.
    pub pid: Option<i32>,
    /// Where to write, if not to standard error.
    pub file: Option<PathBuf>,
    pub style: Style,
    pub json: bool,
    pub driver: DriverArgs,
    pub program: Vec<OsString>,
}

/// Set by a signal that asks cutap to leave the traced process.
static DETACH: AtomicBool = AtomicBool::new(false);

extern "C" fn request_detach(_: libc::c_int) {
    DETACH.store(true, Ordering::Relaxed);
}

impl Outside {
    pub fn run(self) -> Result<()> {
        match self.pid {
            Some(pid) => self.attach(pid),
            None => self.ptrace(),
        }
    }

    fn ptrace(&self) -> Result<()> {
        let decoder = self.decoder()?;
        let tables = decoder.tables;
        let mut output = self.output(decoder)?;
        let gate = ptrace::gate().map_err(own)?;
        let pid = start_outside(&self.program, &|| gate.child(), &|pid| gate.parent(pid).map_err(|e| e.0))?;
        forward_signals(pid);
        print_notice(
            "traced by ptrace with a seccomp filter; no_new_privs is set, so set-user-ID programs get no privileges",
        );
        let mut sink = |call: KernelCall| output.call(&call);
        let mut tracer = Tracer::of_child(pid, &gate, tables, &mut sink);
        let tracee_end = tracer.run(&DETACH);
        let missed = tracer.missed();
        let written = output.end(missed);
        match tracee_end {
            TraceeEnd::Code(0) => written,
            tracee_end => {
                written.unwrap_or_else(|e| print_notice(&e.to_string()));
                exit_like(tracee_end)
            }
        }
    }

    fn attach(&self, pid: i32) -> Result<()> {
        if pid <= 0 || u32::try_from(pid).is_ok_and(|pid| pid == std::process::id()) {
            return Err(Error::own(format!("cannot trace process {pid}: give the number of another process")));
        }
        let decoder = self.decoder()?;
        let tables = decoder.tables;
        let mut output = self.output(decoder)?;
        let mut sink = |call: KernelCall| output.call(&call);
        let mut tracer = Tracer::attach(pid, tables, &mut sink).map_err(own)?;
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            // SAFETY: the handler stores to one atomic variable.
            unsafe { libc::signal(signal, request_detach as extern "C" fn(libc::c_int) as libc::sighandler_t) };
        }
        print_notice(&format!(
            "process {pid} is traced by ptrace, which stops it at every system call: it is slow meanwhile; Ctrl-C \
             leaves it running"
        ));
        let tracee_end = tracer.run(&DETACH);
        let missed = tracer.missed();
        print_notice(&match tracee_end {
            TraceeEnd::Code(code) => format!("process {pid} exited with {code}"),
            TraceeEnd::Signal(signal) => format!("process {pid} was ended by signal {signal}"),
            TraceeEnd::Detached => format!("process {pid} is left running"),
            TraceeEnd::Unseen => format!("process {pid} has ended"),
        });
        output.end(missed)
    }

    /// The tables of the running driver; without a driver the usual ones.
    fn decoder(&self) -> Result<Decoder> {
        let decoder = Decoder::new(self.driver.driver.as_deref(), &Run::default()).map_err(own)?;
        if running_driver().is_none() {
            print_notice("no NVIDIA driver runs on this machine (there is no /sys/module/nvidia/version)");
        }
        print_notice(&decoder.description());
        Ok(decoder)
    }

    fn output(&self, decoder: Decoder) -> Result<Output> {
        let out: Box<dyn Write> = match &self.file {
            Some(path) => {
                let used: Vec<&OsStr> = self.program.iter().map(OsString::as_os_str).collect();
                let file = output_file::open(path, false, false, &used)?;
                if file.metadata().is_ok_and(|data| data.is_file()) {
                    let advice = "give a file that you may write with -o FILE";
                    file.set_len(0).map_err(|e| cannot("write the trace to", path, &e, advice))?;
                }
                // A killed cutap has written all lines.
                Box::new(LineWriter::new(file))
            }
            None => Box::new(io::stderr()),
        };
        let style = Style { threads: true, parents: false, ..self.style };
        let form = if self.json { Form::Captured } else { Form::Text(style) };
        let mut output = Output {
            out,
            printer: CallPrinter::new(decoder, self.select.clone(), form),
            all_files: self.json || style.verbose,
            calls: 0,
            failed: None,
        };
        if self.json {
            let program = self.program.iter().map(|word| word.to_string_lossy().into_owned()).collect();
            let source = Some("ptrace".to_owned());
            let head = Head { driver: running_driver(), program, source, ..Head::default() };
            output.failed = output.printer.head(&head, &mut output.out).err();
        }
        Ok(output)
    }
}

/// Where the calls go. An error of a write is kept, for the program must run to its end.
struct Output {
    out: Box<dyn Write>,
    printer: CallPrinter,
    /// Opens of other files too.
    all_files: bool,
    calls: u64,
    failed: Option<io::Error>,
}

impl Output {
    fn call(&mut self, call: &KernelCall) {
        self.calls += u64::from(matches!(call.action, Action::Ioctl(_)));
        // A sandbox must permit these opens too, so JSON has them all.
        let of_driver = !matches!(&call.action, Action::Open { path, .. } if !is_of_driver(path));
        if self.failed.is_none() && (of_driver || self.all_files) {
            self.failed = self.printer.call(call, &mut self.out).err();
        }
    }

    fn end(mut self, missed: Missed) -> Result<()> {
        let failed = self.failed.take().or(self.out.flush().err());
        notes(missed, self.calls).iter().for_each(|note| print_notice(note));
        match failed {
            Some(e) if e.kind() != io::ErrorKind::BrokenPipe => {
                let why = cutap_collect::reason(&e);
                Err(Error::own(format!("cannot write the trace: {why}; {} ioctls were made", self.calls)))
            }
            _ => Ok(()),
        }
    }
}

/// What is said at the end of a trace with this number of ioctls.
fn notes(missed: Missed, calls: u64) -> Vec<String> {
    let Missed { narrow, hidden, unread, untraced } = missed;
    let some = |n: u64, one: &str, many: &str| match n {
        1 => format!("1 {one}"),
        _ => format!("{n} {many}"),
    };
    let private = "its process may not be read by this user; run cutap as root";
    let mut notes = Vec::new();
    if narrow > 0 {
        notes.push(format!("{} not decoded", some(narrow, "ioctl of 32-bit code is", "ioctls of 32-bit code are")));
    }
    if hidden > 0 {
        let ioctls = some(hidden, "ioctl that may be the driver's is", "ioctls that may be the driver's are");
        notes.push(format!("{ioctls} not shown, nor is what else concerns the same file: {private}"));
    }
    if unread > 0 {
        notes.push(format!("{} shown without the argument: {private}", some(unread, "ioctl is", "ioctls are")));
    }
    if untraced > 0 {
        let children = some(untraced, "child asked not to be traced", "children asked not to be traced");
        notes.push(format!("{children}, and opens and ioctls in there fail with ENOSYS: {private}"));
    }
    if calls + narrow + hidden == 0 {
        notes.push("no ioctl to the NVIDIA driver was made".to_owned());
    }
    notes
}

fn exit_like(ended: TraceeEnd) -> ! {
    match ended {
        TraceeEnd::Code(code) => cutap_collect::ExitKind::Code(code).exit_like(),
        TraceeEnd::Signal(signal) => cutap_collect::ExitKind::Signal(signal).exit_like(),
        TraceeEnd::Detached | TraceeEnd::Unseen => std::process::exit(cutap_collect::OWN_FAILURE.into()),
    }
}
