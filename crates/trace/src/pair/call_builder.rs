//! A call with its arguments, as its enter record tells it, and what notes add to it: the kernel's name, the instance
//! of its runtime, what hooks did.

use super::call_stack::CallStack;
use super::filter_eval::share_parameters;
use super::open_call::{Asked, OpenCall};
use super::sink::Context;
use crate::event::{Args, Call, HookAction, Hooked, Layer, Thread};
use crate::symbols::functions::KnownFunction;
use crate::symbols::process::ProcessSymbols;
use cutap_wire::record::{Fragments, Words, note};
use std::sync::{Arc, OnceLock, PoisonError};

/// What an enter record says beside the function.
#[derive(Debug)]
pub struct EnterRecord<'a> {
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
) -> Arc<Call> {
    let (kernel, instance) = (OnceLock::new(), OnceLock::new());
    if let Some(name) = name {
        let _ = kernel.set(name.clone());
    }
    if known.function.layer == Layer::RUNTIME
        && known.function.instance.is_none()
        && let Some(of_object) = context.process.names.instance_of(known.object)
    {
        let _ = instance.set(of_object.clone());
    }
    let shared = &context.shared;
    let asked = shared.resolver.filter.asks_arguments() && (known.tests.is_some() || known.parent);
    Arc::new(Call {
        thread: thread.clone(),
        function: known.function.clone(),
        depth: entered.depth,
        start_ns: entered.ns,
        ticks: entered.ticks,
        caller: entered.caller,
        args: Args::from(entered.words),
        memory: if shared.decode || asked { entered.memory.bytes().into() } else { Box::default() },
        parent: if known.parent || known.function.layer == Layer::KERNEL {
            stack.open().find_map(|around| around.call.clone())
        } else {
            None
        },
        inputs: OnceLock::new(),
        effective_args: OnceLock::new(),
        driver_args: OnceLock::new(),
        told: Default::default(),
        kernel,
        instance,
        hooked: Default::default(),
        stack: OnceLock::new(),
        pieces: Default::default(),
    })
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

/// A note of an open call.
pub fn noted<D>(open: &mut OpenCall<D>, what: u64, value: u64, process: &mut ProcessSymbols) {
    if what == note::KERNEL {
        let mut name = process.names.kernels.by_id(value);
        if name.is_none() {
            process.read_new_names();
            name = process.names.kernels.by_id(value);
        }
        if open.kernel.is_none() {
            open.kernel = name.clone();
        }
        if let (Some(call), Some(name)) = (&open.call, name) {
            let _ = call.kernel.set(name);
        }
        return;
    }
    let Some(call) = &open.call else { return };
    if what == note::INSTANCE {
        if process.names.instance_by_id(value).is_none() {
            process.read_new_names();
        }
        process.names.instance_by_id(value).map(|i| call.instance.set(i.clone()));
    } else if what & 0xff == note::HOOK_ARGUMENT_WORD {
        let word = ((what >> 16 & 0xffff) as usize, (what >> 32) as usize, value);
        call.hooked.lock().unwrap_or_else(PoisonError::into_inner).1.push(word);
    } else if let Some(did) = HookAction::of_note(what, value) {
        let n = (what >> 8 & 0xff) as usize;
        if process.names.hooks.len() <= n {
            process.read_new_names();
        }
        let hook = process.names.hooks.get(n).cloned().unwrap_or_else(|| format!("hook {n}").into());
        let (hooked, _) = &mut *call.hooked.lock().unwrap_or_else(PoisonError::into_inner);
        // What was written last is what there is.
        if let HookAction::Output(n, _) = did {
            hooked.retain(|h| h.hook != hook || !matches!(h.did, HookAction::Output(of, _) if of == n));
        }
        hooked.push(Hooked { hook, did });
    }
}
