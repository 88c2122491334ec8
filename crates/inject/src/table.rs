//! The file of the run, mapped: what is armed, the rules of now, their counters.

use core::ffi::CStr;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::*, fence};
use cutap_hook::contract::Host;
use cutap_wire::injected::{
    Armed, COUNTERS, Class, Counter, FILE, Head, MAGIC, ROWS, Row, SITES, Site, name_hash, part,
};

/// Bytes of the longest path.
const LONGEST: usize = 4096;

static MAPPED: AtomicPtr<u8> = AtomicPtr::new(core::ptr::null_mut());
static CLASSES: AtomicUsize = AtomicUsize::new(0);

/// The mapped file. Its parts were checked when it was mapped, and stay.
#[derive(Clone, Copy)]
pub struct File {
    at: *const u8,
    classes: usize,
}

/// The file, once it is mapped.
pub fn file() -> Option<File> {
    let at = MAPPED.load(Acquire);
    (!at.is_null()).then(|| File { at, classes: CLASSES.load(Relaxed) })
}

impl File {
    fn head(&self) -> &'static Head {
        // SAFETY: the head of the mapped file, which stays. What changes are atomics.
        unsafe { &*self.at.cast() }
    }
    fn rows_of<T>(&self, offset: usize, count: usize) -> &'static [T] {
        // SAFETY: the file is that long, which was checked; the parts are aligned to eight bytes.
        unsafe { core::slice::from_raw_parts(self.at.add(offset).cast(), count) }
    }
    /// The patterns whose functions are hooked.
    pub fn armed(&self) -> &'static [Armed] {
        self.rows_of(part::ARMED, (self.head().armed as usize).min(ROWS))
    }
    /// The first number of the chances.
    pub fn seed(&self) -> u64 {
        self.head().seed.load(Relaxed)
    }
    /// Counts the replacements.
    pub fn generation(&self) -> u64 {
        self.head().generation.load(Acquire)
    }
    /// How many rows this generation has.
    pub fn count(&self, generation: u64) -> usize {
        let rows = self.head().rows.get((generation & 1) as usize).map_or(0, |rows| rows.load(Acquire));
        (rows as usize).min(ROWS)
    }
    /// Where a row is. It may be written meanwhile: see `is_current`.
    fn place(&self, generation: u64, n: usize) -> *const Row {
        let bank = (generation & 1) as usize * ROWS + n.min(ROWS - 1);
        // SAFETY: inside the file.
        unsafe { self.at.add(part::BANKS).cast::<Row>().add(bank) }
    }
    /// The name in a row, to look whether more of it is wanted.
    pub fn name(&self, generation: u64, n: usize) -> (&'static [u8], u32) {
        // SAFETY: inside the file. Bytes that change meanwhile only make it another name.
        unsafe {
            let row = self.place(generation, n);
            let name = core::slice::from_raw_parts((&raw const (*row).name).cast(), size_of_val(&(*row).name));
            (cutap_wire::injected::text(name), (&raw const (*row).layers).read_volatile())
        }
    }
    /// The text of a rule.
    pub fn text(&self, generation: u64, n: usize) -> &'static [u8] {
        // SAFETY: as above.
        unsafe {
            let row = self.place(generation, n);
            let text = core::slice::from_raw_parts((&raw const (*row).text).cast(), size_of_val(&(*row).text));
            cutap_wire::injected::text(text)
        }
    }
    /// A copy of a row, if it was not written meanwhile.
    pub fn row(&self, generation: u64, n: usize) -> Option<Row> {
        // SAFETY: inside the file. All bytes are valid numbers; torn ones are thrown away.
        let row = unsafe { self.place(generation, n).read_volatile() };
        self.is_current(generation).then_some(row)
    }
    /// Whether the bank of this generation has not been written again.
    fn is_current(&self, generation: u64) -> bool {
        fence(Acquire);
        self.head().writing.load(Relaxed) < generation + 2
    }
    /// The counter of a row.
    pub fn counter(&self, row: &Row) -> Option<&'static Counter> {
        self.rows_of::<Counter>(part::COUNTERS, COUNTERS).get(row.counter as usize)
    }
    /// The driver's function that writes this thread's context, and the one that writes its device.
    pub fn asking(&self) -> [&'static [u8]; 2] {
        let [context, device] = &self.head().asking;
        [context, device]
    }
    /// Bits of `class`.
    pub fn class(&self, name: &[u8]) -> u64 {
        let classes: &[Class] = self.rows_of(part::CLASSES, self.classes);
        let at = classes.binary_search_by_key(&name_hash(name), |class| class.hash);
        at.ok().and_then(|at| classes.get(at)).map_or(0, |class| class.bits)
    }
    /// The call sites, if they are counted.
    pub fn sites(&self) -> &'static [Site] {
        self.rows_of(part::sites(self.classes), if self.head().surveys == 1 { SITES } else { 0 })
    }
}

/// Maps the file. None if it is not there, or of another version.
///
/// # Safety
/// `host` is cutap's.
pub unsafe fn map(host: &Host) -> Option<File> {
    // SAFETY: the host's function; it returns NULL or a string of the environment.
    let folder = unsafe {
        let value = (host.environment)(c"CUTAP_RUN".as_ptr());
        if value.is_null() {
            return None;
        }
        CStr::from_ptr(value).to_bytes()
    };
    let mut path = [0_u8; LONGEST];
    let pieces = [folder, b"/", FILE.as_bytes()];
    let mut end = 0;
    for piece in pieces {
        path.get_mut(end..end + piece.len()).filter(|to| end + to.len() < LONGEST)?.copy_from_slice(piece);
        end += piece.len();
    }
    // SAFETY: calls on a descriptor of this function. The size is looked at before anything is read. The mapping stays.
    unsafe {
        let file = libc::open(path.as_ptr().cast(), libc::O_RDWR | libc::O_CLOEXEC);
        if file < 0 {
            return None;
        }
        let mut facts: libc::stat = core::mem::zeroed();
        let is_known = libc::fstat(file, &mut facts) == 0;
        let bytes = usize::try_from(facts.st_size).unwrap_or(0);
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let memory = if is_known && bytes >= part::CLASSES {
            libc::mmap(core::ptr::null_mut(), bytes, access, libc::MAP_SHARED, file, 0)
        } else {
            libc::MAP_FAILED
        };
        libc::close(file);
        if memory == libc::MAP_FAILED {
            return None;
        }
        let head = &*memory.cast::<Head>();
        let classes = head.classes as usize;
        let is_of_this_build = head.magic == MAGIC && head.version == cutap_wire::VERSION;
        if !is_of_this_build || bytes != part::bytes(classes, head.surveys == 1) {
            return None;
        }
        CLASSES.store(classes, Relaxed);
        MAPPED.store(memory.cast(), Release);
    }
    file()
}
