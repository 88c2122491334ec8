//! The answer of every export without an implementation. The call is counted, and its arguments are checked as far as
//! the registry describes them. Wrong arguments get the error of the real driver, all others NOT_SUPPORTED. This file
//! must never write to memory of the program, and never read what an argument points to.

use crate::abi::{Answer, Fault, lifecycle};
use crate::counts::COUNTS;
use crate::driver::current;
use crate::driver::device::device;
use crate::engine::refused;
use crate::generated::DEFAULTS;
use crate::state::{DriverState, Handle, driver_state};
use cutap_calls::generated::known::TABLES;
use cutap_calls::known::{Count, Dir, Enum, Function, Param, Rule, Type};
use cutap_machine::config;
use std::sync::atomic::Ordering;

/// The words of a call: the six integer registers, and the stack above the return address.
struct CallWords {
    registers: *const u64,
    stack: *const u64,
}

impl CallWords {
    /// A word by its number in the record of a call (see `cutap_calls::known::Shape`).
    fn get(&self, function: &Function, word: u8) -> Option<u64> {
        let shape = function.shape;
        let past_registers = word.checked_sub(shape.ints);
        // SAFETY: the shape says how many words the prototype has, and the caller promised to follow it.
        unsafe {
            match past_registers {
                None if word < 6 => Some(*self.registers.add(word.into())),
                Some(n) if n >= shape.vectors && n < shape.vectors + shape.stack => {
                    Some(*self.stack.add((n - shape.vectors).into()))
                }
                _ => None,
            }
        }
    }
}

/// Called by the exports, with the number of the function.
pub extern "C" fn answer(place: u32, registers: *const u64, stack: *const u64) -> u32 {
    let place = place as usize;
    COUNTS[place].fetch_add(1, Ordering::Relaxed);
    let name = DEFAULTS[place];
    let words = CallWords { registers, stack };
    let result = lifecycle::require_started().and_then(|()| match function_form(name) {
        Some(function) => check(function, &words),
        None => Ok(()),
    });
    if result.is_ok() && refused::is_reported() {
        // SAFETY: the return address is below the words of the stack.
        refused::count(name, "it is not written", Some(unsafe { *stack.sub(1) }));
    }
    result.err().unwrap_or(Fault::NOT_SUPPORTED).0
}

/// The form of a function in the simulated version.
fn function_form(name: &str) -> Option<&'static Function> {
    let plain = name.strip_suffix("_ptsz").or(name.strip_suffix("_ptds")).unwrap_or(name);
    let family = TABLES.families.iter().find(|f| f.name == "driver")?;
    let first = family.functions.partition_point(|f| f.name < plain);
    let forms = family.functions.get(first..)?.iter().take_while(|f| f.name == plain);
    forms.clone().find(|f| f.since <= config().driver && config().driver <= f.until).or(forms.last())
}

fn check(function: &Function, words: &CallWords) -> Answer {
    let state = driver_state();
    let mut without_context = false;
    for param in function.params {
        let Some(value) = words.get(function, param.word) else { continue };
        match TABLES.types.get(usize::from(param.ty)) {
            Some(Type::Pointer(..)) if value == 0 && is_needed(function, words, param) => {
                return Err(Fault::INVALID_VALUE);
            }
            Some(Type::Pointer(..)) if is_empty(function, words, param) => return Err(Fault::INVALID_VALUE),
            Some(Type::Enum(row)) if TABLES.enums.get(usize::from(*row)).is_some_and(|e| !has(e, value)) => {
                return Err(Fault::INVALID_VALUE);
            }
            Some(Type::Handle(kind)) => {
                let kind = TABLES.handles.get(usize::from(*kind)).map_or("", |h| h.name);
                without_context |= matches!(kind, "CUdevice" | "CUcontext");
                handle(&state, kind, value)?;
            }
            _ => {}
        }
    }
    // A function without a device or context among its arguments uses the current context.
    if without_context || !needs_context(function.name) { Ok(()) } else { current::require(&state).map(drop) }
}

/// Whether a pointer must not be NULL: single values, texts, and lists with a count above 0.
fn is_needed(function: &Function, words: &CallWords, param: &Param) -> bool {
    let count = |n: u8| function.params.get(usize::from(n)).and_then(|p| words.get(function, p.word)).unwrap_or(0);
    match param.rule {
        Rule::One | Rule::Text => true,
        Rule::Array(Count::Of(n)) => count(n) as u32 > 0,
        Rule::Array(Count::Fixed(_)) => true,
        _ => param.dir == Dir::Out && matches!(param.rule, Rule::Tagged(..)),
    }
}

/// Whether an enum has a value.
fn has(all: &Enum, value: u64) -> bool {
    all.values.iter().any(|(member, _)| *member as u32 == value as u32)
}

/// Whether the count of a list is 0.
fn is_empty(function: &Function, words: &CallWords, param: &Param) -> bool {
    let Rule::Array(Count::Of(n)) = param.rule else { return false };
    function.params.get(usize::from(n)).and_then(|p| words.get(function, p.word)) == Some(0)
}

/// A handle must exist if this driver tracks its kind.
fn handle(state: &DriverState, kind: &str, value: u64) -> Answer {
    let handle = Handle(value);
    let null = value == 0;
    let there = match kind {
        "CUdevice" => return device(value as u32 as i32).map(drop),
        "CUcontext" if !null && !state.context.contexts.contains_key(&handle) => return Err(Fault::INVALID_CONTEXT),
        "CUstream" => value <= 2 || state.stream.streams.contains_key(&handle),
        "CUevent" => state.stream.events.contains_key(&handle),
        "CUmodule" => state.code.modules.contains_key(&handle),
        "CUlibrary" => state.code.libraries.contains_key(&handle),
        "CUfunction" | "CUkernel" => state.code.functions.contains_key(&handle),
        "CUarray" => state.array.arrays.contains_key(&handle),
        "CUtexref" | "CUsurfref" => state.array.references.contains_key(&handle),
        "CUgraph" | "CUgraphNode" | "CUgraphExec" | "CUmemoryPool" | "CUmemGenericAllocationHandle" => {
            let exists = state.graph.graphs.contains_key(&handle)
                || state.graph.nodes.contains_key(&handle)
                || state.graph.executables.contains_key(&handle)
                || state.memory.pools.contains_key(&handle)
                || state.reservation.pieces.contains_key(&handle);
            return if exists { Ok(()) } else { Err(Fault::INVALID_VALUE) };
        }
        "CUexternalMemory" | "CUexternalSemaphore" if null => return Err(Fault::INVALID_VALUE),
        // This driver never creates objects of these kinds.
        "CUgraphicsResource" | "CUexternalMemory" | "CUexternalSemaphore" => false,
        _ => true,
    };
    if there { Ok(()) } else { Err(Fault::INVALID_HANDLE) }
}

/// Whether a function needs a context. Functions about the machine, the process or the driver do not.
fn needs_context(name: &str) -> bool {
    const WITHOUT: [&str; 9] = [
        "cuDevice",
        "cuDev",
        "cuLogs",
        "cuCoredump",
        "cuCheckpoint",
        "cuLogicalEndpoint",
        "cuMulticast",
        "cuGL",
        "cudbg",
    ];
    !WITHOUT.iter().any(|start| name.starts_with(start))
}
