//! Builds a call with its arguments from its enter record, and adds what notes say: the name of the kernel, the
//! instance of the runtime, what hooks did.

use super::call_stack::CallStack;
use super::filter_eval::share_parameters;
use super::open_call::{Asked, OpenCall};
use super::sink::Context;
use crate::event::{Args, Call, CallStart, HookAction, Hooked, Layer, Thread};
use crate::symbols::functions::KnownFunction;
use crate::symbols::process::ProcessSymbols;
use cutap_wire::record::{Fragments, Words, note};
use std::sync::Arc;

/// What an enter record says beside the function.
#[derive(Debug)]
pub struct EnterRecord<'a> {
    pub number: u32,
    pub ns: u64,
    pub ticks: u64,
    pub caller: u64,
    pub depth: u32,
    pub words: Words<'a>,
    pub memory: Fragments<'a>,
}

/// The kernel of a handle, else the one that the call around launches: old runtimes make handles that no record names.
pub fn kernel<D: Clone>(
    stack: &CallStack<D>,
    handle: u64,
    ticks: u64,
    process: &mut ProcessSymbols,
) -> Option<Arc<str>> {
    if let Some(name) = process.names.kernels.at(handle, ticks) {
        return Some(name);
    }
    process.read_new_names();
    let by_handle = process.names.kernels.at(handle, ticks);
    by_handle.or_else(|| stack.last().and_then(|around| around.kernel.clone()))
}

/// A call of a thread, inside the open ones.
pub fn call<D: Clone>(
    stack: &CallStack<D>,
    thread: &Arc<Thread>,
    known: &KnownFunction,
    entered: &EnterRecord<'_>,
    name: Option<&Arc<str>>,
    context: &Context<'_>,
) -> Call {
    let has_none = known.function.layer == Layer::RUNTIME && known.function.instance.is_none();
    let instance = has_none.then(|| context.process.names.instance_of(known.object).cloned()).flatten();
    let shared = &context.shared;
    let asked = shared.resolver.filter.asks_arguments() && (known.tests.is_some() || known.parent);
    let start = CallStart {
        thread: thread.clone(),
        function: known.function.clone(),
        depth: entered.depth,
        number: entered.number,
        start_ns: entered.ns,
        ticks: entered.ticks,
        caller: entered.caller,
        caller_library: match known.function.layer {
            Layer::HIDDEN => context.process.names.object_at(entered.caller),
            _ => None,
        },
        args: Args::from(entered.words),
        memory: if shared.decode || asked { entered.memory.bytes().into() } else { Box::default() },
        parent: if known.parent || matches!(known.function.layer, Layer::SYSCALL | Layer::SUBMIT) {
            stack.open().find_map(|around| around.call.clone()).map(Box::new)
        } else {
            None
        },
        kernel: name.cloned(),
        instance,
    };
    Call::new(start)
}

/// What a filter that asks for arguments has to know of a call.
pub fn asked<D: Clone>(
    stack: &mut CallStack<D>,
    known: &KnownFunction,
    call: &Call,
    process: &mut ProcessSymbols,
) -> Option<Box<Asked>> {
    let mut inputs = None;
    if known.parent && known.function.layer == Layer::DRIVER {
        process.read_new_names();
        inputs = Some(share_parameters(stack, call, &process.names.kernels));
    }
    let asked = known.tests.is_some() || inputs.is_some();
    asked.then(|| Box::new(Asked { tests: known.tests.clone(), inputs }))
}

/// A note of an open call. True when more is known of the call now.
pub fn noted<D>(open: &mut OpenCall<D>, what: u64, value: u64, process: &mut ProcessSymbols) -> bool {
    if what == note::KERNEL {
        let mut name = process.names.kernels.by_id(value);
        if name.is_none() {
            process.read_new_names();
            name = process.names.kernels.by_id(value);
        }
        if open.kernel.is_none() {
            open.kernel = name.clone();
        }
        let Some(call) = open.call.as_mut().filter(|call| call.kernel().is_none() && name.is_some()) else {
            return false;
        };
        call.rare_mut().kernel = name;
        return true;
    }
    let Some(call) = &mut open.call else { return false };
    if what == note::INSTANCE {
        if process.names.instance_by_id(value).is_none() {
            process.read_new_names();
        }
        let instance = process.names.instance_by_id(value).filter(|_| call.instance().is_none());
        let Some(instance) = instance else { return false };
        call.rare_mut().instance = Some(instance.clone());
    } else if what & 0xff == note::HOOK_ARGUMENT_WORD {
        let word = ((what >> 16 & 0xffff) as usize, (what >> 32) as usize, value);
        call.rare_mut().further.push(word);
    } else if let Some(did) = HookAction::of_note(what, value) {
        let n = (what >> 8 & 0xff) as usize;
        if process.names.hooks.len() <= n {
            process.read_new_names();
        }
        let hook = process.names.hooks.get(n).cloned().unwrap_or_else(|| format!("hook {n}").into());
        let hooked = &mut call.rare_mut().hooked;
        // What was written last is what there is.
        if let HookAction::Output(n, _) = did {
            hooked.retain(|h| h.hook != hook || !matches!(h.did, HookAction::Output(of, _) if of == n));
        }
        hooked.push(Hooked { hook, did });
    } else {
        return false;
    }
    true
}
