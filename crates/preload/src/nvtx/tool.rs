//! Another tool's functions: those that it put into a copy's pointers before ours. They are called with the program's
//! arguments, and the program gets their results.

use core::mem::transmute;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::*};
use cutap_calls::generated::nvtx::{NO_PUSH_POP_TRACKING, extension};

/// A function of cutap: its module, its number there, its address.
pub type Row = (u32, u32, usize);

/// Numbers of functions in a module are below this.
const FUNCTIONS: usize = 16;
/// Numbers of modules with functions of cutap are below this.
const MODULES: usize = 6;

static FUNCTIONS_OF_TOOL: [[AtomicUsize; FUNCTIONS]; MODULES] =
    [const { [const { AtomicUsize::new(0) }; FUNCTIONS] }; MODULES];

static IS_ATTACHED: AtomicBool = AtomicBool::new(false);

/// Another tool has accepted a copy.
pub fn attach() {
    IS_ATTACHED.store(true, Release);
}

/// Whether handles are those of another tool: it may follow them, so none is made up.
pub fn is_attached() -> bool {
    IS_ATTACHED.load(Acquire)
}

fn place(module: u32, number: u32) -> Option<&'static AtomicUsize> {
    FUNCTIONS_OF_TOOL.get(module as usize)?.get(number as usize)
}

/// Keeps the tool's function. False if another copy has another one: then it stays in the pointer, and is called alone.
pub fn keep(module: u32, number: u32, function: usize) -> bool {
    place(module, number).is_some_and(|place| keep_in(place, function))
}

fn keep_in(place: &AtomicUsize, function: usize) -> bool {
    match place.compare_exchange(0, function, AcqRel, Acquire) {
        Ok(_) => true,
        Err(kept) => kept == function,
    }
}

/// The tool's function.
pub fn function(module: u32, number: u32) -> Option<usize> {
    Some(place(module, number)?.load(Acquire)).filter(|function| *function != 0)
}

/// What another tool answers to a function of one, two or three arguments; none if there is no other tool.
pub fn answer(module: u32, number: u32, arguments: [usize; 2]) -> Option<usize> {
    let function = function(module, number)?;
    let [first, second] = arguments;
    // SAFETY: the tool's function has at most two arguments, which the program gave. One that takes fewer leaves the
    // other registers alone.
    Some(unsafe { transmute::<usize, extern "C" fn(usize, usize) -> usize>(function)(first, second) })
}

/// What the program gets: what another tool answers; where that has no function, what NVTX answers without an
/// implementation; and without another tool what is ours.
pub fn or_ours<T>(answer: Option<T>, without_implementation: T, ours: impl FnOnce() -> T) -> T {
    answer.unwrap_or_else(|| if is_attached() { without_implementation } else { ours() })
}

/// What a push or a pop answers, by `or_ours`.
pub fn level_or_ours(answer: Option<usize>, ours: i32) -> i32 {
    or_ours(answer.map(|level| level as i32), NO_PUSH_POP_TRACKING, || ours)
}

/// The id that the program gets, by `or_ours`.
pub fn id_or_ours(answer: Option<usize>, ours: impl FnOnce() -> u64) -> u64 {
    or_ours(answer.map(|id| id as u64), 0, ours)
}

/// Functions of another tool for the slots of an extension.
pub struct ExtensionFunctions<const SLOTS: usize>([AtomicUsize; SLOTS]);

/// The same for any number of slots.
pub trait KeepsFunctions {
    /// Keeps the tool's function. False if another copy has another one: then that stays alone.
    fn keep(&self, number: u32, function: usize) -> bool;
}

impl<const SLOTS: usize> KeepsFunctions for ExtensionFunctions<SLOTS> {
    fn keep(&self, number: u32, function: usize) -> bool {
        self.0.get(number as usize).is_some_and(|place| keep_in(place, function))
    }
}

impl<const SLOTS: usize> ExtensionFunctions<SLOTS> {
    pub const fn new() -> Self {
        ExtensionFunctions([const { AtomicUsize::new(0) }; SLOTS])
    }

    /// The tool's function of a slot.
    pub fn of(&self, number: u32) -> Option<usize> {
        Some(self.0.get(number as usize)?.load(Acquire)).filter(|function| *function != 0)
    }

    /// What another tool answers; none if there is no other tool. It takes at most four arguments, which the program
    /// gave.
    pub fn answer(&self, number: u32, arguments: [usize; 4]) -> Option<usize> {
        let function = self.of(number)?;
        let [first, second, third, fourth] = arguments;
        type Function = extern "C" fn(usize, usize, usize, usize) -> usize;
        // SAFETY: the tool's function of this slot. One that takes fewer arguments leaves the other registers alone.
        Some(unsafe { transmute::<usize, Function>(function)(first, second, third, fourth) })
    }
}

/// An id for what the program gave none.
pub fn next_id() -> u64 {
    static IDS: AtomicU64 = AtomicU64::new((extension::FIRST_ID_UPPER as u64) << 32);
    IDS.fetch_add(1, Relaxed)
}
