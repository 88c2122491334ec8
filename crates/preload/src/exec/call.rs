//! Calls of the functions that start a program: which of libc's functions is jumped to, or called with another
//! environment.

use super::environment::{self, Environment};
use super::{list, vfork_memory};
use crate::loader::elf::is_function;
use crate::loader::{live, map, real};
use crate::process::{path, run, vfork_word};
use crate::sys::{self, allowed};
use core::ffi::c_int;
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
    /// Its older version there, for programs that were linked before glibc 2.15; 0: none.
    older: AtomicUsize,
    /// What this library exports under the name.
    entry: AtomicUsize,
}

const fn new(name: &'static [u8], environment: Source, instead: usize) -> Function {
    let [next, older, entry] = [const { AtomicUsize::new(0) }; 3];
    Function { name, environment, instead, returns: false, next, older, entry }
}
const fn spawn(name: &'static [u8], number: usize) -> Function {
    Function { returns: true, ..new(name, Source::Argument(5), number) }
}

/// How many they are.
pub const COUNT: usize = 11;
const EXECVEAT: usize = 10;

/// The order is that of `exec_entries`.
static FUNCTIONS: [Function; COUNT] = [
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
    new(b"execveat", Source::Argument(3), EXECVEAT),
];

/// At start: where the entries are.
#[cfg(feature = "inject")]
pub fn set_entries(addresses: [usize; COUNT]) {
    for (function, address) in FUNCTIONS.iter().zip(addresses) {
        function.entry.store(address, Relaxed);
    }
}

/// The entry to hand out for a function that was found in a library: the one that calls that function.
pub fn entry_for(found: usize) -> Option<usize> {
    let function = FUNCTIONS.iter().find(|function| function.next.load(Relaxed) == found)?;
    Some(function.entry.load(Relaxed)).filter(|entry| found != 0 && *entry != 0)
}

/// Finds the functions behind cutap, at the start of a process, with any libc.
pub fn find_next() {
    let mut is_behind = false;
    map::each(|base, tables, ours| {
        is_behind |= ours;
        if ours || !is_behind {
            return;
        }
        for function in FUNCTIONS.iter().filter(|function| function.next.load(Relaxed) == 0) {
            let (mut default, mut older) = (0, 0);
            // SAFETY: the object is loaded.
            unsafe {
                tables.find(function.name, |symbol, number| {
                    let address = base.wrapping_add(symbol.value);
                    let version = if tables.is_default(number) { &mut default } else { &mut older };
                    *version = if is_function(symbol, base, address) { address } else { 0 };
                    false
                });
            }
            if default != 0 {
                function.older.store(older, Relaxed);
                function.next.store(default, Relaxed);
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
    match at() {
        0 if number == EXECVEAT => execveat as *const () as usize,
        at => at,
    }
}

/// The same for who calls it from `caller`: a program that was linked before glibc 2.15 has the older `posix_spawn`,
/// which runs a script without `#!` by the shell.
fn next_for(number: usize, caller: usize) -> usize {
    let next = next(number);
    let Some(function) = FUNCTIONS.get(number) else { return next };
    let older = function.older.load(Relaxed);
    let wants_it = || {
        // SAFETY: under the loader's lock.
        live::at(caller, |o| unsafe { o.tables.any_reference(function.name, |i| o.tables.needed_version(i) == OLDER) })
    };
    if older != 0 && wants_it() == Some(true) { older } else { next }
}
const OLDER: &[u8] = b"GLIBC_2.2.5";

/// Of a libc that has no such function: glibc before 2.34.
unsafe extern "C" fn execveat(folder: usize, path: usize, argv: usize, environment: usize, flags: usize) -> c_int {
    const EXECVEAT: usize = 322;
    match real::next(real::SYSCALL) {
        0 => -1,
        // SAFETY: libc's `syscall`, with the caller's arguments.
        syscall => unsafe {
            core::mem::transmute::<usize, unsafe extern "C" fn(usize, ...) -> isize>(syscall)(
                EXECVEAT,
                folder,
                path,
                argv,
                environment,
                flags,
            ) as c_int
        },
    }
}

/// A call of function `number`, with its six registers and the words on the stack.
///
/// # Safety
/// The arguments of such a call.
#[cfg_attr(not(feature = "inject"), allow(dead_code, reason = "called by arch::exec_entries"))]
pub unsafe extern "C" fn call(number: usize, registers: &[usize; 6], stack: *const usize) -> Next {
    // SAFETY: the address that the call returns to is in front of its words on the stack.
    let caller = unsafe { *stack.sub(1) };
    let pass = Next { jump: next_for(number, caller), result: -1 };
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
    let (mut variables, variable, value) = match unsafe { environment::read(place, path::run(), map::FILE) } {
        Some(Environment::Replaced { place, count, value }) => (count + 2, place, value),
        Some(Environment::Cleaned) => (0, 0, &[][..]),
        Some(Environment::Complete) | None => return pass,
    };
    let bytes = |variables: usize| {
        let text = if variables > 0 { 16 + value.len() + list::appended_libraries().len() } else { 0 };
        (argv + variables) * size_of::<usize>() + text
    };
    let mut memory = Memory::new(bytes(variables));
    if memory.is_none() {
        // The program runs without cutap.
        variables = 0;
        memory = Memory::new(bytes(variables));
    }
    let Some(memory) = memory else { return pass };
    let words = argv + variables;
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
    let text = b"LD_PRELOAD=".iter().chain(value).chain(b":").chain(list::appended_libraries()).chain(b"\0");
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
        let is_shared = bytes > 0 && vfork_word::is_child();
        // Its parent gives the memory back by the child's id.
        if is_shared && !allowed::may_tell_process() {
            return None;
        }
        let at = if bytes == 0 { core::ptr::null_mut() } else { sys::pages(bytes) };
        if bytes > 0 && at.is_null() {
            return None;
        }
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
