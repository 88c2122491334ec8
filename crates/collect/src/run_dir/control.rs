//! The control page as the collector writes it: whole before the program starts, then word by word. Plain file writes
//! are enough: the page cache is the memory that the program maps.
//!
//! A process that drains a run holds a lock on its page, so there is never a second one.

use crate::base::error::{Result, cannot};
use crate::options::capture_range::CaptureRange;
use crate::options::driver_choice::DriverChoice;
use crate::options::overflow_policy::OverflowPolicy;
use crate::options::stacks::StackCapture;
use cutap_calls::filter::{TRACKED, TRACKED_WORK};
use cutap_trace::{Filter, ProgramEnd, RunPath};
use cutap_wire::control::{self, Control, RECORDING_OFF, RECORDING_ON};
use std::fs::File;
use std::mem::offset_of;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Pages of processes that are looked at.
const MOST_PAGES: u32 = 1 << 16;

/// How far a live trace is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PrintProgress {
    /// All events up to here are printed, in ticks.
    pub ticks: u64,
    /// Length of the output then.
    pub bytes: u64,
    /// All lines that were due up to here are printed, in nanoseconds of CLOCK_MONOTONIC.
    pub horizon_ns: u64,
}

/// What is wanted of the processes of a run.
#[derive(Debug, Clone, Copy)]
pub struct RunSettings<'a> {
    /// What to record.
    pub filter: &'a Filter,
    /// Leave children alone.
    pub no_follow: bool,
    /// Keep module images.
    pub dump_modules: bool,
    /// What a thread does whose ring is full.
    pub full: OverflowPolicy,
    /// Record nothing: only hooks work.
    pub only_hooks: bool,
    /// Record between cuProfilerStart and cuProfilerStop only.
    pub range: Option<&'a CaptureRange>,
    /// Count calls and record none.
    pub count: bool,
    /// Times and numbers of calls are wanted, and no arguments.
    pub summary: bool,
    /// Stacks that are kept.
    pub stacks: &'a StackCapture,
    /// The Python frames of calls are kept: of those that these rules want, or without a rule of the usual ones.
    pub python: Option<&'a str>,
    /// Begin with recording off; it is switched on later.
    pub off: bool,
    /// Rows of GPU time are wanted.
    pub gpu_time: bool,
    /// The driver's question for an injection is answered.
    pub answers_driver: bool,
    /// Calls of functions that start no work are counted.
    pub count_chatter: bool,
    /// The program's driver.
    pub driver: DriverChoice,
}

/// The page of a new run; refused before its folder is made.
pub fn page(settings: RunSettings<'_>) -> Result<[u8; cutap_wire::PAGE]> {
    let tracked = !settings.count && !settings.summary;
    let mut recorded = settings.filter.recorded(tracked);
    if settings.gpu_time && recorded.contains(TRACKED) {
        recorded.push_str(TRACKED_WORK);
    }
    let rules = if settings.only_hooks { "-* * *\n" } else { &recorded };
    fits(rules)?;
    let flags = [
        (control::LOOKUPS, settings.filter.wants_lookups() && !settings.only_hooks),
        (control::CXX_NAMES, settings.filter.wants_cxx()),
        (control::NO_FOLLOW, settings.no_follow),
        (control::DUMP_MODULES, settings.dump_modules),
        (control::LOSSY, settings.full == OverflowPolicy::Drop),
        (control::FLIGHT, matches!(settings.full, OverflowPolicy::Overwrite(_))),
        (control::RANGE, settings.range.is_some()),
        (control::RANGE_OF_NVTX, settings.range.is_some_and(|range| range.nvtx_text().is_some())),
        (control::COUNT, settings.count),
        (control::STACK_OUTERMOST, settings.stacks.outermost),
        (control::COUNTS_ENTERED, true),
        (control::GPU_TIME, settings.gpu_time),
        (control::GPU_TIME_ANSWERED, settings.answers_driver),
        (control::COUNT_CHATTER, settings.count_chatter),
        (control::DRIVER_SIMULATED, settings.driver == DriverChoice::Simulated),
        (control::DRIVER_CUDEST, settings.driver == DriverChoice::Cudest),
        (control::PYTHON, settings.python.is_some()),
    ];
    let flags = flags.iter().filter(|f| f.1).fold(0, |all, f| all | f.0);
    let (chunk_bytes, max_chunks) = settings.full.chunks();
    let mut page = [0u8; cutap_wire::PAGE];
    let mut put = |at: usize, bytes: &[u8]| page[at..at + bytes.len()].copy_from_slice(bytes);
    put(offset_of!(Control, magic), &cutap_wire::MAGIC.to_le_bytes());
    put(offset_of!(Control, version), &cutap_wire::VERSION.to_le_bytes());
    put(offset_of!(Control, chunk_bytes), &chunk_bytes.to_le_bytes());
    put(offset_of!(Control, flags), &flags.to_le_bytes());
    put(offset_of!(Control, max_chunks), &max_chunks.to_le_bytes());
    put(offset_of!(Control, collector), &control::COLLECTOR_NEVER.to_le_bytes());
    let recording = match (settings.only_hooks || settings.off, settings.count) {
        (true, _) => control::RECORDING_OFF,
        (_, true) => control::RECORDING_COUNT,
        _ => control::RECORDING_ON,
    };
    put(offset_of!(Control, recording), &recording.to_le_bytes());
    put(offset_of!(Control, rules_len), &(rules.len() as u32).to_le_bytes());
    put(offset_of!(Control, rules), rules.as_bytes());
    put(offset_of!(Control, stack_bytes), &settings.stacks.bytes.to_le_bytes());
    put(offset_of!(Control, stack_rules_len), &(settings.stacks.rules.len() as u32).to_le_bytes());
    put(offset_of!(Control, stack_rules), settings.stacks.rules.as_bytes());
    put(offset_of!(Control, run), &random().to_le_bytes());
    Ok(page)
}

/// A number that no other run has; 0 where the system gives none.
fn random() -> u64 {
    let mut bytes = [0; 8];
    // SAFETY: fills bytes of our own.
    let filled = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), libc::GRND_NONBLOCK) };
    if filled == 8 { u64::from_le_bytes(bytes) } else { 0 }
}

/// Whether rules have room in the page.
pub fn fits(rules: &str) -> Result<()> {
    if rules.len() <= control::RULES_BYTES {
        return Ok(());
    }
    Err(crate::Error::own(format!(
        "the filter is too long ({} bytes of rules, {} fit); use names with * in -e",
        rules.len(),
        control::RULES_BYTES
    )))
}

/// Writes the page, and beside it what never changes. `filter` is what was asked, in the user's words.
pub fn write(run: &RunPath, page: &[u8; cutap_wire::PAGE], filter: &Filter) -> Result<()> {
    let len = u32::from_le_bytes(page[offset_of!(Control, rules_len)..][..4].try_into().unwrap_or_default()) as usize;
    let rules = &page[offset_of!(Control, rules)..][..len];
    let rank = crate::base::default_name::rank().map_or_else(String::new, |rank| rank.to_string());
    let host = crate::base::host_facts::host_facts();
    let files = [
        (control::ARMED, rules),
        (control::FILTER, filter.text().as_bytes()),
        (control::RANK, rank.as_bytes()),
        (control::HOST, host.as_bytes()),
        (control::ALIVE, &[0; cutap_wire::PAGE]),
        (control::FILE, page),
    ];
    for (name, bytes) in files {
        if bytes.is_empty() {
            continue;
        }
        write_new(&run.join(name), bytes)?;
    }
    Ok(())
}

/// Writes what a run with hooks says of them.
pub fn write_hooks(run: &RunPath, bytes: &[u8]) -> Result<()> {
    write_new(&run.join(cutap_wire::hooks::FILE), bytes)
}

/// Writes what `--inject` does to calls.
pub fn write_injected(run: &RunPath, bytes: &[u8]) -> Result<()> {
    write_new(&run.join(cutap_wire::injected::FILE), bytes)
}

/// Writes what `--limit-memory` allows.
pub fn write_limit(run: &RunPath, bytes: &[u8]) -> Result<()> {
    write_new(&run.join(cutap_wire::limited::FILE), bytes)
}

/// Writes where the recording is, for who knows the run alone.
pub fn write_recording(run: &RunPath, recording: &Path) -> Result<()> {
    let path = std::path::absolute(recording).unwrap_or_else(|_| recording.to_owned());
    write_new(&run.join(control::RECORDING), path.as_os_str().as_bytes())
}

/// Writes between which ranges of NVTX is recorded.
pub fn write_capture_range(run: &RunPath, range: &CaptureRange) -> Result<()> {
    range.nvtx_text().map_or(Ok(()), |text| write_new(&run.join(control::CAPTURE_RANGE), text.as_bytes()))
}

/// Writes of which calls the Python frames are kept.
pub fn write_python(run: &RunPath, rules: &str) -> Result<()> {
    if rules.is_empty() { Ok(()) } else { write_new(&run.join(control::PYTHON_RULES), rules.as_bytes()) }
}

/// Writes which ioctls are answered.
pub fn write_kernel_answers(run: &RunPath, bytes: &[u8]) -> Result<()> {
    write_new(&run.join(control::KERNEL_ANSWERS), bytes)
}

fn write_new(path: &RunPath, bytes: &[u8]) -> Result<()> {
    path.create_new()
        .and_then(|f| f.write_all_at(bytes, 0))
        .map_err(|e| cannot("write", &path.path(), &e, "choose another run directory with --run-dir or -o"))
}

/// The words of the page that a collector changes, or those of one process's own (`wire::flags`).
#[derive(Debug)]
pub struct Page(File, RunPath);

impl Page {
    pub fn open(run: &Path) -> Result<Page> {
        let opened = RunPath::open(run);
        opened
            .and_then(|run_dir| Page::of_run(&run_dir))
            .map_err(|e| cannot("open", &run.join(control::FILE), &e, "it is not the folder of a run"))
    }

    /// The page of a run directory that is held open.
    pub fn of_run(run: &RunPath) -> std::io::Result<Page> {
        Ok(Page(run.join(control::FILE).open_file(true)?, run.clone()))
    }
    /// Those of the run's processes that have one, as far as they are made and readable.
    pub fn own_pages(&self) -> Vec<Page> {
        let n = (self.word(offset_of!(Control, own_pages)) as u32).min(MOST_PAGES);
        (0..n).filter_map(|n| Page::own_page(&self.1, n)).collect()
    }
    /// Page `n` of a process.
    fn own_page(run: &RunPath, n: u32) -> Option<Page> {
        let path = run.join(format!("{}{n}", cutap_wire::flags::FILE));
        Some(Page(path.open_file(true).ok()?, path)).filter(Page::is_a_run)
    }
    /// Makes one for a process that has none yet, and finds it when it wants one.
    pub fn own_for(&self, pid: u32, (namespace, start_time): (u32, u32)) -> Option<Page> {
        let n = self.fetch_add(offset_of!(Control, own_pages))?;
        let path = self.1.join(format!("{}{n}", cutap_wire::flags::FILE));
        let mut page = [0; cutap_wire::PAGE];
        self.0.read_exact_at(&mut page, 0).ok()?;
        page[offset_of!(Control, first_pid)..][..4].copy_from_slice(&pid.to_le_bytes());
        page[offset_of!(Control, pid_namespace)..][..4].copy_from_slice(&namespace.to_le_bytes());
        page[offset_of!(Control, start_time)..][..4].copy_from_slice(&start_time.to_le_bytes());
        let epoch = self.word(offset_of!(Control, rules_epoch)) as u32 & !1;
        page[offset_of!(Control, rules_epoch)..][..4].copy_from_slice(&epoch.to_le_bytes());
        let own = Page(path.create_new().ok()?, path);
        own.0.write_all_at(&page, 0).ok()?;
        Some(own)
    }
    /// Says that some process is switched alone.
    pub fn some_alone(&self) {
        let _ = self.fetch_add(offset_of!(Control, alone));
    }
    /// The process that a page of its own belongs to, as it sees itself.
    pub fn owner(&self) -> u32 {
        self.word(offset_of!(Control, first_pid)) as u32
    }
    pub fn file(&self) -> &File {
        &self.0
    }
    /// Its path; of the run's page, the run's.
    pub fn path(&self) -> PathBuf {
        self.1.path()
    }
    /// Adds one to a word that processes of the run add to as well; what it was.
    fn fetch_add(&self, at: usize) -> Option<u32> {
        // SAFETY: a new mapping of the page, which is there whole (`is_a_run`), and is given back.
        unsafe {
            let rights = libc::PROT_READ | libc::PROT_WRITE;
            let page =
                libc::mmap(std::ptr::null_mut(), cutap_wire::PAGE, rights, libc::MAP_SHARED, self.0.as_raw_fd(), 0);
            if page == libc::MAP_FAILED {
                return None;
            }
            let was = (*page.cast::<u8>().add(at).cast::<AtomicU32>()).fetch_add(1, Ordering::SeqCst);
            libc::munmap(page, cutap_wire::PAGE);
            Some(was)
        }
    }
    /// Makes this process the one that drains the run, until it ends. False when another is.
    pub fn lock(&self) -> bool {
        // SAFETY: a descriptor of our own. A file system without locks has no second collector either.
        let status = unsafe { libc::flock(self.0.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) };
        status == 0 || std::io::Error::last_os_error().kind() != std::io::ErrorKind::WouldBlock
    }
    /// CLOCK_MONOTONIC nanoseconds of the collector's last sign of life.
    pub fn heartbeat(&self) -> u64 {
        self.word(offset_of!(Control, heartbeat))
    }
    /// Notes what is printed, in one write: a collector that is killed leaves the old note or the new one.
    pub fn put_progress(&self, progress: PrintProgress) {
        let words = [progress.ticks, progress.bytes, progress.horizon_ns].map(u64::to_le_bytes);
        self.put(offset_of!(Control, printed), words.as_flattened());
    }
    /// What the collector before this one noted there.
    pub fn progress_before(&self) -> PrintProgress {
        let word = |n: usize| self.word(offset_of!(Control, printed) + 8 * n);
        PrintProgress { ticks: word(0), bytes: word(1), horizon_ns: word(2) }
    }
    /// The rate that was noted; 0: none.
    pub fn rate(&self) -> u64 {
        self.word(offset_of!(Control, ticks_per_second))
    }
    /// Notes the rate of the time stamp counter.
    pub fn put_rate(&self, ticks_per_second: u64) {
        self.put(offset_of!(Control, ticks_per_second), &ticks_per_second.to_le_bytes());
    }
    /// Notes how the program ended.
    pub fn put_program_end(&self, end: ProgramEnd) {
        self.put(offset_of!(Control, program_end), &end.word().to_le_bytes());
    }
    /// Says whether somebody drains.
    pub fn put_collector_state(&self, state: u32) {
        self.beat();
        self.put(offset_of!(Control, collector), &state.to_le_bytes());
    }
    /// Says that the collector lives.
    pub fn beat(&self) {
        self.put(offset_of!(Control, heartbeat), &monotonic_ns().to_le_bytes());
    }
    /// What is recorded cannot be written any more: calls pass, and are counted.
    pub fn stop_recording(&self) {
        self.put_recording(control::RECORDING_BROKEN);
        self.own_pages().iter().for_each(|own| own.put_recording(control::RECORDING_BROKEN));
    }
    /// The rings of a flight recorder are being copied, or not any more.
    pub fn put_copying(&self, copying: bool) {
        let now = if copying { monotonic_ns() } else { 0 };
        self.put(offset_of!(Control, copying), &now.to_le_bytes());
    }
    /// When that was last said, CLOCK_MONOTONIC nanoseconds.
    pub fn copied_at(&self) -> u64 {
        self.word(offset_of!(Control, copying))
    }
    /// Chunks that a ring may have.
    pub fn max_chunks(&self) -> u32 {
        self.word(offset_of!(Control, max_chunks)) as u32
    }
    /// Calls of processes that a flight recorder left out whole.
    pub fn forgotten(&self) -> u64 {
        self.word(offset_of!(Control, forgotten))
    }
    /// So many now.
    pub fn put_forgotten(&self, calls: u64) {
        self.put(offset_of!(Control, forgotten), &calls.to_le_bytes());
    }
    /// Children of the program are recorded too.
    pub fn follows_children(&self) -> bool {
        self.word(offset_of!(Control, flags)) & control::NO_FOLLOW == 0
    }
    /// Nobody drains while the program runs.
    pub fn is_flight_recorder(&self) -> bool {
        self.word(offset_of!(Control, flags)) & control::FLIGHT != 0
    }
    /// One of the `RECORDING_*` values.
    pub fn recording(&self) -> u32 {
        self.word(offset_of!(Control, recording)) as u32
    }
    /// Switches those who look at this page. Where captures of graphs are open, it is switched off when they end.
    pub fn put_recording(&self, state: u32) {
        let has_captures = self.word(offset_of!(Control, captures)) as u32 != 0;
        let off_later = has_captures && state == RECORDING_OFF && self.recording() == RECORDING_ON;
        self.put(offset_of!(Control, on_for_capture), &u32::from(off_later).to_le_bytes());
        // The last capture may have ended meanwhile.
        if off_later && self.word(offset_of!(Control, captures)) as u32 != 0 {
            return;
        }
        self.put(offset_of!(Control, on_for_capture), &0u32.to_le_bytes());
        self.put(offset_of!(Control, recording), &state.to_le_bytes());
    }
    /// One of the `COLLECTOR_*` values.
    pub fn collector_state(&self) -> u32 {
        self.word(offset_of!(Control, collector)) as u32
    }
    /// What was wanted at the start.
    pub fn flags(&self) -> u64 {
        self.word(offset_of!(Control, flags))
    }
    /// Sets one of the flags, or clears it.
    pub fn put_flag(&self, flag: u64, on: bool) {
        let flags = if on { self.flags() | flag } else { self.flags() & !flag };
        self.put(offset_of!(Control, flags), &flags.to_le_bytes());
    }
    /// Notes that another cutap was started by a program of this run.
    pub fn one_more_inside(&self) {
        let _ = self.fetch_add(offset_of!(Control, inner));
    }
    /// True for the page of a run of this version.
    pub fn is_a_run(&self) -> bool {
        let version = self.word(offset_of!(Control, version)) as u32;
        self.word(offset_of!(Control, magic)) == cutap_wire::MAGIC && version == cutap_wire::VERSION
    }
    /// The rules of the filter.
    pub fn rules(&self) -> String {
        let len = (self.word(offset_of!(Control, rules_len)) as u32 as usize).min(control::RULES_BYTES);
        let mut rules = vec![0; len];
        let _ = self.0.read_exact_at(&mut rules, offset_of!(Control, rules) as u64);
        String::from_utf8_lossy(&rules).into_owned()
    }
    /// Other rules, which fit: processes look at what is armed again at their next call.
    pub fn put_rules(&self, rules: &str) {
        let epoch = self.word(offset_of!(Control, rules_epoch)) as u32 & !1;
        self.put(offset_of!(Control, rules_epoch), &epoch.wrapping_add(1).to_le_bytes());
        self.put(offset_of!(Control, rules), rules.as_bytes());
        self.put(offset_of!(Control, rules_len), &(rules.len() as u32).to_le_bytes());
        self.put(offset_of!(Control, rules_epoch), &epoch.wrapping_add(2).to_le_bytes());
    }
    /// Whether recording was switched since the start.
    pub fn was_switched(&self) -> bool {
        self.word(offset_of!(Control, switches)) as u32 > 0
    }
    /// Leaves word of a switch for readers, who would else not know that calls are missing: of process `pid`, or of all
    /// (0). The clock of who is meant is so far ahead of ours (see [`ahead`]): the moment stands among moments of its
    /// calls.
    pub fn record_switch(&self, state: u32, (pid, ahead): (u32, i64)) {
        let flags = self.flags() | control::SWITCHED;
        self.put(offset_of!(Control, flags), &flags.to_le_bytes());
        let n = self.word(offset_of!(Control, switches)) as u32;
        if (n as usize) < control::SWITCHES {
            let now = monotonic_ns().saturating_add_signed(ahead);
            let both = [now.to_le_bytes(), (u64::from(state) | u64::from(pid) << 32).to_le_bytes()].concat();
            self.put(offset_of!(Control, switched) + n as usize * 16, &both);
        }
        self.put(offset_of!(Control, switches), &n.saturating_add(1).to_le_bytes());
    }
    fn word(&self, at: usize) -> u64 {
        let mut bytes = [0; 8];
        // What cannot be read is 0: never, nothing.
        let _ = self.0.read_exact_at(&mut bytes, at as u64);
        u64::from_le_bytes(bytes)
    }
    fn put(&self, at: usize, bytes: &[u8]) {
        // The page exists and is allocated: the write cannot fail but for a broken disk, and then
        // the program goes on as with a dead collector.
        let _ = self.0.write_all_at(bytes, at as u64);
    }
}

/// How many nanoseconds a process's CLOCK_MONOTONIC is ahead of ours, as in another time namespace; 0 where nobody
/// tells.
pub fn ahead(pid: u32) -> i64 {
    let offset = |of: &str| {
        let text = std::fs::read_to_string(format!("/proc/{of}/timens_offsets")).ok()?;
        let mut words = text.lines().find_map(|line| line.strip_prefix("monotonic"))?.split_whitespace();
        let mut next = || words.next()?.parse::<i64>().ok();
        next()?.checked_mul(1_000_000_000)?.checked_add(next()?)
    };
    let both = offset(&pid.to_string()).zip(offset("self"));
    both.and_then(|(its, ours)| its.checked_sub(ours)).unwrap_or(0)
}

/// CLOCK_MONOTONIC.
pub fn monotonic_ns() -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: fills a structure of our own.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut t) };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}
