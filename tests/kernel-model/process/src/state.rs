//! The model, and which descriptors are its nodes.

use crate::files::{self, File};
use crate::process::Process;
use cutap_kernel_model::{Answers, Model};
use cutap_rm::Tables;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::fmt::Write;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// The driver of this process.
pub struct State {
    model: Model,
    nodes: BTreeMap<i32, String>,
    log: Option<CString>,
    /// The thread of the GPU runs.
    runs: bool,
}

/// The version that the driver says.
pub fn version() -> &'static str {
    static VERSION: OnceLock<String> = OnceLock::new();
    VERSION.get_or_init(|| std::env::var("KERNEL_MODEL_VERSION").unwrap_or_else(|_| "580.159.04".to_owned()))
}

static STATE: OnceLock<Mutex<State>> = OnceLock::new();

/// The one driver, if a node was opened. Reading its answers uses files too, so only opening a node makes it.
pub fn state() -> Option<MutexGuard<'static, State>> {
    STATE.get().map(|state| state.lock().unwrap_or_else(PoisonError::into_inner))
}

fn made() -> MutexGuard<'static, State> {
    let new = || {
        let tables = Tables::select(version()).expect("KERNEL_MODEL_VERSION is a version").tables;
        let log = std::env::var("KERNEL_MODEL_LOG").ok().and_then(|path| CString::new(path).ok());
        let answers = match std::env::var_os("KERNEL_MODEL_RUN") {
            Some(path) => Answers::of_file(path.as_ref(), version()).expect("KERNEL_MODEL_RUN is a recorded run"),
            None => Answers::new(version()),
        };
        let mut model = Model::with_answers(tables, answers);
        if let Ok(fault) = std::env::var("KERNEL_MODEL_FAULT") {
            let numbers =
                fault.split_once('@').and_then(|(xid, launch)| Some((xid.parse().ok()?, launch.parse().ok()?)));
            let (xid, launch) = numbers.expect("KERNEL_MODEL_FAULT is an Xid, @ and the number of a launch, as 31@5");
            model.plant_fault(xid, launch);
        }
        Mutex::new(State { model, nodes: BTreeMap::new(), log, runs: false })
    };
    STATE.get_or_init(new).lock().unwrap_or_else(PoisonError::into_inner)
}

/// The GPU, until exit.
fn run() {
    loop {
        let mut state = made();
        let done = state.model.run(&mut Process);
        state.write_notes();
        drop(state);
        std::thread::sleep(Duration::from_micros(if done { 0 } else { 50 }));
    }
}

/// Opens a file of the driver: a descriptor, or a negative errno. None: the path is not the driver's.
pub fn open(path: &str) -> Option<i64> {
    let file = files::file(path, version())?;
    if file == File::Absent {
        return Some(-i64::from(libc::ENOENT));
    }
    let name = CString::new(path).ok()?;
    // SAFETY: a text that ends with 0.
    let fd = unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC) };
    match file {
        File::Text(text) => {
            // SAFETY: the text has so many bytes.
            unsafe { libc::write(fd, text.as_ptr().cast(), text.len()) };
            // SAFETY: no memory is involved.
            unsafe { libc::lseek(fd, 0, libc::SEEK_SET) };
        }
        _ => made().add(fd, path),
    }
    Some(fd.into())
}

impl State {
    fn add(&mut self, fd: i32, path: &str) {
        if let Ok(at) = usize::try_from(fd) {
            self.model.open_as(at, path);
            self.nodes.insert(fd, path.to_owned());
        }
    }

    /// The node of a descriptor.
    pub fn path(&self, fd: i32) -> Option<&str> {
        self.nodes.get(&fd).map(String::as_str)
    }

    /// The descriptor is closed.
    pub fn close(&mut self, fd: i32) {
        if self.nodes.remove(&fd).is_some() {
            self.model.close(fd);
        }
    }

    /// The descriptor leads to where the other does.
    pub fn dup(&mut self, fd: i32, new: i32) {
        self.close(new);
        if let Some(path) = self.nodes.get(&fd).cloned() {
            self.add(new, &path);
        }
    }

    /// A request to a node. None: the descriptor is no node.
    pub fn ioctl(&mut self, fd: i32, request: u32, argument: u64) -> Option<i64> {
        self.nodes.get(&fd)?;
        let result = self.model.ioctl(fd, request, argument, &mut Process);
        self.write_notes();
        self.enlarge();
        if self.model.has_channels() && !self.runs {
            self.runs = true;
            std::thread::spawn(run);
        }
        Some(result)
    }

    /// A mapping that was prepared needs as many bytes in its file.
    fn enlarge(&self) {
        for fd in self.nodes.keys() {
            let Some(size) = self.model.prepared(*fd).and_then(|size| i64::try_from(size).ok()) else { continue };
            // SAFETY: only the descriptor is used.
            unsafe { libc::ftruncate(*fd, size.max(0x1_0000)) };
        }
    }

    fn write_notes(&mut self) {
        let mut text = String::new();
        for note in self.model.take_notes() {
            let word = if note.refused { "refused" } else { "near" };
            writeln!(text, "{word}: {}: {}", note.request, note.done).expect("a string");
        }
        let Some(log) = self.log.as_ref().filter(|_| !text.is_empty()) else { return };
        // SAFETY: texts that are there; the descriptor is our own.
        unsafe {
            let fd =
                libc::syscall(libc::SYS_open, log.as_ptr(), libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND, 0o644);
            libc::write(fd as i32, text.as_ptr().cast(), text.len());
            libc::syscall(libc::SYS_close, fd);
        }
    }
}
