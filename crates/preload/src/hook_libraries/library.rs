//! The hook libraries of the run, and what they want. Read once at start, on one thread; after that
//! nothing here changes.

use super::{constructors, wants_file};
use crate::exec::list;
use crate::loader::elf::Tables;
use crate::loader::map;
use crate::process::path::Path;
use crate::process::{names, page};
use crate::slots::hooks;
use crate::sys;
use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};
use cutap_hook::contract::{self, Function, OfACall, VERSION};
use cutap_wire::hooks::{
    ASKING, BEGUN, FILE, HEAD, Head, LIBRARIES, MAX_BYTES, PATTERN, SELECTORS, asking, is_plain, is_version, text,
};
use cutap_wire::names::{Name, kind};
use cutap_wire::{PAGE, diagnostic};

/// What is done with the calls of a function that a library wants.
#[derive(Clone, Copy)]
pub struct Want {
    /// Number of the library.
    pub library: u8,
    /// Called before.
    pub before: Option<OfACall>,
    /// Called after.
    pub after: Option<OfACall>,
    /// Called when a function is met.
    pub met: Option<unsafe extern "C" fn(*const Function, *mut c_void)>,
    /// Its own.
    pub user: *mut c_void,
    /// Where it stands in the run's file.
    pub file_entry: Option<&'static wants_file::WantEntry>,
}

impl Want {
    pub const NONE: Want =
        Want { library: 0, before: None, after: None, met: None, user: core::ptr::null_mut(), file_entry: None };
}

/// A want, and which functions it is of.
#[derive(Clone, Copy)]
struct Row {
    layers: u32,
    of: Pattern,
    name: Pattern,
    want: Want,
}

#[derive(Clone, Copy)]
struct Pattern([u8; PATTERN], usize);

impl Pattern {
    const EMPTY: Pattern = Pattern([0; PATTERN], 0);

    fn new(text: &[u8]) -> Option<Pattern> {
        let mut p = Pattern::EMPTY;
        p.0.get_mut(..text.len())?.iter_mut().zip(text).for_each(|(to, from)| *to = *from);
        p.1 = text.len();
        Some(p)
    }
    fn text(&self) -> &[u8] {
        self.0.get(..self.1).unwrap_or(&[])
    }
    fn matches(&self, text: &[u8]) -> bool {
        cutap_calls::glob(self.text(), text)
    }
}

impl Row {
    fn is_of(&self, layer: u32, library: &[u8], name: &[u8]) -> bool {
        let named = self.name.matches(name) || is_plain(self.name.text()) && is_version(self.name.text(), name);
        self.layers & layer != 0 && named && self.of.matches(library)
    }
    /// Both are plain names that the function has, of one library, and the other one is nearer.
    fn yields_to(&self, other: &Row) -> bool {
        let plain = is_plain(self.name.text()) && is_plain(other.name.text());
        plain && self.want.library == other.want.library && self.name.1 < other.name.1
    }
}

struct Table(UnsafeCell<[Option<Row>; SELECTORS]>);
// SAFETY: written by one thread before ACTIVE is set, read after.
unsafe impl Sync for Table {}
static TABLE: Table = Table(UnsafeCell::new([None; SELECTORS]));
static COUNT: AtomicU32 = AtomicU32::new(0);
/// Wants of the library that is being asked for which there was no place.
static LEFT_OUT: AtomicU32 = AtomicU32::new(0);
/// The library that is being asked what it wants, plus one.
static ASKED: AtomicU32 = AtomicU32::new(0);
static ACTIVE: AtomicBool = AtomicBool::new(false);

struct File(UnsafeCell<&'static [u8]>);
// SAFETY: as above.
unsafe impl Sync for File {}
static BYTES: File = File(UnsafeCell::new(&[]));

/// The run's file, empty without hooks.
pub fn file() -> &'static [u8] {
    // SAFETY: see `File`.
    unsafe { *BYTES.0.get() }
}

/// A want by its number.
pub fn want(n: u8) -> Option<Want> {
    row(n).map(|r| r.want)
}

fn row(n: u8) -> Option<&'static Row> {
    // SAFETY: see `Table`.
    unsafe { &*TABLE.0.get() }.get(usize::from(n))?.as_ref()
}

/// The wants that a function matches, in their order. Of one library's plain names the nearest: who names a version of
/// a function beside the function has each call once.
pub fn wanting(layer: u32, library: &[u8], name: &[u8]) -> impl Iterator<Item = u8> {
    let count = if ACTIVE.load(Acquire) { COUNT.load(Relaxed) as u8 } else { 0 };
    let of = move |n: u8| row(n).filter(|w| w.is_of(layer, library, name));
    (0..count).filter(move |&n| of(n).is_some_and(|w| !(0..count).filter_map(of).any(|other| w.yields_to(other))))
}

/// Tells the names of the libraries to the names stream.
pub fn announce() {
    let file = file();
    let Some(head) = Head::read(file) else { return };
    for (n, path) in paths(file, &head).enumerate() {
        let name = path.rsplit(|&b| b == b'/').next().unwrap_or(path);
        names(n, name);
    }
}

/// File name of a library by its number.
pub fn file_name(n: u8) -> Option<&'static [u8]> {
    let file = file();
    let path = paths(file, &Head::read(file)?).nth(n.into())?;
    path.rsplit(|&b| b == b'/').next()
}

fn names(n: usize, name: &[u8]) {
    names::write(&Name { kind: kind::HOOK, ticks: 0, a: n as u64, b: 0, c: 0, s: name, t: &[] });
}

fn paths<'a>(file: &'a [u8], head: &Head) -> impl Iterator<Item = &'a [u8]> {
    let mut at = head.paths as usize;
    (0..head.libraries.min(LIBRARIES as u32)).map_while(move |_| {
        let path = text(file, at)?;
        at += path.len() + 1;
        Some(path)
    })
}

/// Reads the run's file and asks each library what it wants. Called once, before any slot is made.
pub fn load(host: &'static contract::Host) {
    let Some((file, head, page)) = read() else { return };
    // SAFETY: a word of the mapped page.
    unsafe { (*page.add(BEGUN).cast::<AtomicU32>()).store(1, Release) };
    // SAFETY: see `File`: it is not read yet.
    unsafe { *BYTES.0.get() = file };
    for (n, path) in paths(file, &head).enumerate() {
        let name = path.rsplit(|&b| b == b'/').next().unwrap_or(path);
        let before = COUNT.load(Relaxed);
        list::add(path);
        if initialize(n as u8, path, page, host) {
            publish_wants(before);
        } else {
            // One that says no wants nothing, whatever it has asked for until then.
            COUNT.store(before, Relaxed);
            names::gap_named(diagnostic::HOOK_ABSENT, name);
        }
        let left_out = LEFT_OUT.swap(0, Relaxed);
        if left_out > 0 {
            page::count(diagnostic::HOOK_WANT_LEFT_OUT, left_out.into());
            names::gap(diagnostic::HOOK_WANT_LEFT_OUT, name, &[]);
        }
    }
    ACTIVE.store(true, Release);
}

/// What a library wants, from its first want on, counts now, and those outside are told.
fn publish_wants(first: u32) {
    // SAFETY: see `Table`: the one thread that asks.
    let rows = unsafe { &mut *TABLE.0.get() }.iter_mut().take(COUNT.load(Relaxed) as usize).skip(first as usize);
    for row in rows.flatten() {
        row.want.file_entry = wants_file::put(row.want.library.into(), row.layers, row.name.text(), row.of.text());
        hooks::add_layers(row.layers);
    }
}

/// The file in a private mapping, and its first page unchanged, which stays mapped: constructors run later.
fn read() -> Option<(&'static [u8], Head, *mut u8)> {
    let mut path = Path::run();
    path.push(b"/").push(FILE.as_bytes());
    sys::with(path.bytes(), &[sys::Open::ReadWrite], read_file)?
}

fn read_file(file: &sys::File) -> Option<(&'static [u8], Head, *mut u8)> {
    let mut first = [0; HEAD];
    if file.read(&mut first) != HEAD {
        return None;
    }
    let head = Head::read(&first)?;
    let bytes = head.bytes as usize;
    if !(HEAD..=MAX_BYTES).contains(&bytes) {
        return None;
    }
    let at = sys::pages(bytes);
    if at.is_null() {
        return None;
    }
    // SAFETY: fresh memory of that size, which is never given back.
    let all = unsafe { core::slice::from_raw_parts_mut(at, bytes) };
    let (start, mut rest) = all.split_at_mut_checked(HEAD)?;
    start.iter_mut().zip(first).for_each(|(to, from)| *to = from);
    while !rest.is_empty() {
        let n = file.read(rest);
        if n == 0 {
            return None;
        }
        rest = rest.get_mut(n..)?;
    }
    let page = file.map(0, PAGE);
    wants_file::begin(file, &head);
    (!page.is_null()).then_some((all, head, page))
}

/// True when the library is loaded, of our version, and wants to take part.
fn initialize(n: u8, path: &[u8], page: *mut u8, host: &'static contract::Host) -> bool {
    let (mut version, mut init, mut own) = (0usize, 0usize, Tables::EMPTY);
    map::named(|base, tables, name| {
        if name != path {
            return;
        }
        // SAFETY: the object is loaded.
        unsafe {
            let address = |symbol: &str| {
                let mut at = 0;
                tables.find(symbol.as_bytes(), |s, _| {
                    at = base.wrapping_add(s.value);
                    true
                });
                at
            };
            own = *tables;
            version = address(contract::VERSION_SYMBOL);
            init = address(contract::INIT_SYMBOL);
        }
    });
    // SAFETY: the library's own variable, relocated by now.
    if init == 0 || version == 0 || unsafe { (version as *const u32).read_unaligned() } != VERSION {
        return false;
    }
    ASKED.store(u32::from(n) + 1, Release);
    // SAFETY: a word of the mapped page.
    let word: &'static AtomicU64 = unsafe { &*page.add(ASKING).cast() };
    word.store(asking(sys::getpid(), n), Release);
    // SAFETY: the entry point has this type in libraries of this version.
    let answer = unsafe { core::mem::transmute::<usize, contract::Init>(init)(host) };
    word.store(0, Release);
    // SAFETY: the library is loaded, and the word stays mapped.
    unsafe { constructors::watch(n, &own, word) };
    ASKED.store(0, Release);
    answer == 0
}

/// A library says what it wants.
///
/// # Safety
/// The contract's.
pub unsafe extern "C" fn add(want: *const contract::Request) -> core::ffi::c_int {
    let Some(library) = ASKED.load(Acquire).checked_sub(1) else { return contract::NOT_IN_INIT };
    // SAFETY: the library's want.
    let Some(want) = (unsafe { want.as_ref() }).filter(|w| w.size as usize >= size_of::<contract::Request>()) else {
        return contract::BAD_REQUEST;
    };
    // SAFETY: its strings.
    let text = |p: *const core::ffi::c_char| (!p.is_null()).then(|| unsafe { sys::text(p.cast(), 4096) });
    let requested_name = text(want.name);
    let hidden = requested_name.and_then(|name| name.strip_prefix(contract::HIDDEN_NAME.as_bytes()));
    let (Some(name), Some(of)) =
        (hidden.or(requested_name).and_then(Pattern::new), Pattern::new(text(want.library).unwrap_or(b"*")))
    else {
        return contract::BAD_REQUEST;
    };
    // Nothing could ever match: its author is told now, and not a user at the end.
    if want.layers & !contract::EVERY != 0 || name.text().is_empty() || of.text().is_empty() {
        return contract::BAD_REQUEST;
    }
    let layers = match want.layers {
        _ if hidden.is_some() => contract::HIDDEN,
        0 => contract::ALL,
        layers => layers,
    };
    let n = COUNT.load(Relaxed) as usize;
    // SAFETY: see `Table`: the one thread that asks.
    let Some(place) = unsafe { &mut *TABLE.0.get() }.get_mut(n) else {
        LEFT_OUT.fetch_add(1, Relaxed);
        return contract::TOO_MANY;
    };
    let (before, after, met, user) = (want.before, want.after, want.on_resolve, want.user);
    let want = Want { library: library as u8, before, after, met, user, file_entry: None };
    *place = Some(Row { layers, of, name, want });
    COUNT.store(n as u32 + 1, Relaxed);
    contract::OK
}
