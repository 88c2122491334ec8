//! Calls of the functions that start a program: which of libc's functions is jumped to, or called with another
//! environment.

use super::environment::{self, Environment};
use super::{list, vfork_memory};
use crate::loader::{elf::is_function, map};
use crate::start::{path, run};
use crate::sys;
use crate::thread::vfork_word_x86_64;
use core::sync::atomic::{AtomicUsize, Ordering::*};
use cutap_wire::control::NO_FOLLOW;

/// Where a function has its environment.
enum Source {
    /// In this argument.
    Argument(usize),
    /// It is the process's.
    Process,
    /// The arguments are the new program's, up to a null, and the environment is the process's, or the next one.
    List { next: bool },
}

struct Function {
    name: &'static [u8],
    environment: Source,
    /// The function that does the same with an array and an environment in its third argument.
    instead: usize,
    /// It returns 0 when the program was started.
    returns: bool,
    /// Where the next one behind cutap is.
    next: AtomicUsize,
}

const fn new(name: &'static [u8], environment: Source, instead: usize) -> Function {
    Function { name, environment, instead, returns: false, next: AtomicUsize::new(0) }
}
const fn spawn(name: &'static [u8], number: usize) -> Function {
    Function { returns: true, ..new(name, Source::Argument(5), number) }
}

/// The order is that of `entries_x86_64`.
static FUNCTIONS: [Function; 10] = [
    new(b"execve", Source::Argument(2), 0),
    new(b"execv", Source::Process, 0),
    new(b"execvpe", Source::Argument(2), 2),
    new(b"execvp", Source::Process, 2),
    new(b"fexecve", Source::Argument(2), 4),
    spawn(b"posix_spawn", 5),
    spawn(b"posix_spawnp", 6),
    new(b"execl", Source::List { next: false }, 0),
    new(b"execlp", Source::List { next: false }, 2),
    new(b"execle", Source::List { next: true }, 0),
];

/// Finds the functions behind cutap, at the start of a process, with any libc.
pub fn find_next() {
    let mut is_behind = false;
    map::each(|base, tables, ours| {
        is_behind |= ours;
        if ours || !is_behind {
            return;
        }
        for function in FUNCTIONS.iter().filter(|function| function.next.load(Relaxed) == 0) {
            // SAFETY: the object is loaded.
            unsafe {
                tables.find(function.name, |symbol, number| {
                    let address = base.wrapping_add(symbol.value);
                    let found = is_function(symbol, base, address) && tables.is_default(number);
                    if found {
                        function.next.store(address, Relaxed);
                    }
                    found
                });
            }
        }
    });
}

/// What the assembler does next: it jumps to an address with the registers as they are then, or returns the result.
#[repr(C)]
pub struct Next {
    jump: usize,
    result: isize,
}

/// The function behind cutap; 0: none.
fn next(number: usize) -> usize {
    let at = || FUNCTIONS.get(number).map_or(0, |function| function.next.load(Relaxed));
    if at() == 0 {
        find_next();
    }
    at()
}

/// A call of function `number`, with its six registers and the words on the stack.
///
/// # Safety
/// The arguments of such a call.
#[cfg_attr(not(feature = "inject"), allow(dead_code, reason = "called by entries_x86_64"))]
pub unsafe extern "C" fn call(number: usize, registers: &[usize; 6], stack: *const usize) -> Next {
    let pass = Next { jump: next(number), result: -1 };
    let Some(function) = FUNCTIONS.get(number).filter(|_| run::is_running() && run::flags() & NO_FOLLOW == 0) else {
        return pass;
    };
    let argument = |n: usize| match registers.get(n) {
        Some(register) => *register,
        // SAFETY: the caller's promise.
        None => unsafe { *stack.add(n - 6) },
    };
    let (argv, place) = match function.environment {
        Source::Argument(n) => (0, argument(n)),
        Source::Process => (0, process_environment()),
        Source::List { next } => {
            let count = (1..).find(|n| argument(*n) == 0).unwrap_or(1);
            (count, if next { argument(count + 1) } else { process_environment() })
        }
    };
    // SAFETY: the caller's promise.
    let (variables, variable, value) = match unsafe { environment::read(place, path::run(), map::FILE) } {
        Some(Environment::Replaced { place, count, value }) => (count + 2, place, value),
        Some(Environment::Cleaned) => (0, 0, &[][..]),
        Some(Environment::Complete) | None => return pass,
    };
    let words = argv + variables;
    let bytes = words * size_of::<usize>() + if variables > 0 { 16 + value.len() + list::get().len() } else { 0 };
    let Some(memory) = Memory::new(bytes) else { return pass };
    let (mut registers, mut target) = (*registers, pass.jump);
    // SAFETY: the memory has room for the words and the text behind them.
    unsafe {
        let array = memory.at.cast::<usize>();
        let mut environment = place;
        if variables > 0 {
            let to = array.add(argv);
            core::ptr::copy_nonoverlapping(place as *const usize, to, variables - 2);
            to.add(variable).write(list_with_ours(array.add(words).cast(), value));
            environment = to as usize;
        }
        if argv > 0 {
            (1..argv).for_each(|n| array.add(n - 1).write(argument(n)));
            registers[1] = array as usize;
        }
        match function.environment {
            Source::Argument(n) => registers.iter_mut().skip(n).take(1).for_each(|to| *to = environment),
            Source::Process if variables == 0 => {}
            Source::Process | Source::List { .. } => {
                registers[2] = environment;
                target = next(function.instead);
            }
        }
    }
    count_cleaned(variables == 0, 1);
    // SAFETY: a function of libc that takes at most six words.
    let result = unsafe {
        let [a, b, c, d, e, f] = registers;
        core::mem::transmute::<usize, unsafe extern "C" fn(usize, usize, usize, usize, usize, usize) -> i32>(target)(
            a, b, c, d, e, f,
        )
    };
    if !function.returns || result != 0 {
        count_cleaned(variables == 0, -1);
    }
    memory.give_back();
    Next { jump: 0, result: result as isize }
}

fn process_environment() -> usize {
    // SAFETY: libc's variable.
    sys::libc::environ().map_or(0, |at| unsafe { *at } as usize)
}

/// Writes the variable with this library behind the caller's list; where it is.
///
/// # Safety
/// There is room for it.
unsafe fn list_with_ours(to: *mut u8, value: &[u8]) -> usize {
    let text = b"LD_PRELOAD=".iter().chain(value).chain(b":").chain(list::get()).chain(b"\0");
    for (n, byte) in text.enumerate() {
        // SAFETY: the caller's promise.
        unsafe { to.add(n).write(*byte) };
    }
    to as usize
}

/// A program without cutap is started, or could not be.
fn count_cleaned(is_cleaned: bool, change: i32) {
    if let Some(control) = run::control().filter(|_| is_cleaned) {
        control.cleaned.fetch_add(change as u32, Relaxed);
    }
}

/// Memory until the program is started or cannot be.
struct Memory {
    at: *mut u8,
    bytes: usize,
    is_shared: bool,
}

impl Memory {
    /// None: it was refused.
    fn new(bytes: usize) -> Option<Memory> {
        let at = if bytes == 0 { core::ptr::null_mut() } else { sys::pages(bytes) };
        if bytes > 0 && at.is_null() {
            return None;
        }
        let is_shared = bytes > 0 && vfork_word_x86_64::is_child();
        if is_shared {
            vfork_memory::add(sys::getpid(), at, bytes);
        }
        Some(Memory { at, bytes, is_shared })
    }
    fn give_back(self) {
        if self.is_shared {
            vfork_memory::remove(self.at);
        }
        if self.bytes > 0 {
            // SAFETY: mapped above.
            unsafe { sys::unmap(self.at, self.bytes) };
        }
    }
}
