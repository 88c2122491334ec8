//! A call as its enter record tells it, and what notes add to it: the kernel's name, the instance of its runtime, what hooks did.

use super::call_stack::Stack;
use super::filter_eval::{launch, provides};
use super::shared::Shared;
use crate::event::{Args, Call, HookAction, Hooked, Layer, Thread};
use crate::symbols::functions::{KnownFunction, Launch};
use crate::symbols::process::ProcessSymbols;
use cutap_wire::memory::MemoryPiece;
use cutap_wire::record::{Fragments, Words, note};
use std::sync::{Arc, OnceLock, PoisonError};

/// What an enter record says beside the function.
pub struct EnterRecord<'a> {
    pub ns: u64,
    pub ticks: u64,
    pub caller: u64,
    pub depth: u32,
    pub words: Words<'a>,
    pub memory: Fragments<'a>,
}

/// The call of a thread, inside of the open ones.
pub fn call(
    (thread, open): (&Arc<Thread>, &Stack),
    known: &KnownFunction,
    entered: &EnterRecord<'_>,
    shared: &Shared,
    folder: &mut ProcessSymbols,
) -> Arc<Call> {
    let (kernel, instance) = (OnceLock::new(), OnceLock::new());
    if let Launch::Word(n) = known.launch
        && let Some(name) = kernel_of(open, entered.words.get(n).unwrap_or(0), entered.ticks, folder)
    {
        let _ = kernel.set(name);
    }
    if known.function.layer == Layer::RUNTIME
        && known.function.instance.is_none()
        && let Some(of_object) = folder.names.instance_of(known.object)
    {
        let _ = instance.set(of_object.clone());
    }
    let asked = known.tests.is_some() || provides(shared, known);
    let call = Arc::new(Call {
        thread: thread.clone(),
        function: known.function.clone(),
        depth: entered.depth,
        start_ns: entered.ns,
        ticks: entered.ticks,
        caller: entered.caller,
        args: Args::from(entered.words),
        memory: if shared.decode || asked { entered.memory.bytes().into() } else { Box::default() },
        parent: if known.parent { open.top().cloned() } else { None },
        inputs: OnceLock::new(),
        effective_args: OnceLock::new(),
        driver_args: OnceLock::new(),
        told: Default::default(),
        evaluated: OnceLock::new(),
        kernel,
        instance,
        hooked: Default::default(),
        stack: OnceLock::new(),
        pieces: Default::default(),
    });
    if provides(shared, known) {
        if known.function.layer == Layer::DRIVER {
            folder.read_new_names();
        }
        launch(&call, &folder.names.kernels);
    }
    call
}

/// Name of the kernel behind a handle, else the one that the runtime call around it launches.
fn kernel_of(open: &Stack, handle: u64, ticks: u64, folder: &mut ProcessSymbols) -> Option<Arc<str>> {
    if let Some(name) = folder.names.kernels.at(handle, ticks) {
        return Some(name);
    }
    folder.read_new_names();
    let by_handle = folder.names.kernels.at(handle, ticks);
    by_handle.or_else(|| open.top().and_then(|parent| parent.kernel().cloned()))
}

/// A piece of memory of an open call.
pub fn memory(open: &mut Stack, piece: &MemoryPiece<'_>) {
    if let Some(call) = open.find(piece.number).and_then(|o| o.call.as_ref()) {
        call.pieces.lock().unwrap_or_else(PoisonError::into_inner).take(piece);
    }
}

/// A note of an open call.
pub fn noted(open: &mut Stack, number: u32, what: u64, value: u64, folder: &mut ProcessSymbols) {
    let Some(call) = open.find(number).and_then(|o| o.call.as_ref()) else { return };
    if what == note::KERNEL {
        let mut name = folder.names.kernels.by_id(value);
        if name.is_none() {
            folder.read_new_names();
            name = folder.names.kernels.by_id(value);
        }
        name.map(|n| call.kernel.set(n));
    } else if what == note::INSTANCE {
        if folder.names.instance_by_id(value).is_none() {
            folder.read_new_names();
        }
        folder.names.instance_by_id(value).map(|i| call.instance.set(i.clone()));
    } else if what & 0xff == note::HOOK_ARGUMENT_WORD {
        let word = ((what >> 16 & 0xffff) as usize, (what >> 32) as usize, value);
        call.hooked.lock().unwrap_or_else(PoisonError::into_inner).1.push(word);
    } else if let Some(did) = HookAction::of_note(what, value) {
        let n = (what >> 8 & 0xff) as usize;
        if folder.names.hooks.len() <= n {
            folder.read_new_names();
        }
        let hook = folder.names.hooks.get(n).cloned().unwrap_or_else(|| format!("hook {n}").into());
        let (hooked, _) = &mut *call.hooked.lock().unwrap_or_else(PoisonError::into_inner);
        // What was written last is what there is.
        if let HookAction::Output(n, _) = did {
            hooked.retain(|h| h.hook != hook || !matches!(h.did, HookAction::Output(of, _) if of == n));
        }
        hooked.push(Hooked { hook, did });
    }
}
