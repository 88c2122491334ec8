//! Builds a call with its arguments from its enter record, and adds what notes say: the name of the kernel, the
//! instance of the runtime, what hooks did.

use super::call_stack::CallStack;
use super::filter_eval::share_parameters;
use super::open_call::{ArgumentCheck, OpenCall};
use super::sink::Context;
use crate::event::{Args, Call, CallStart, HookAction, HookEffect, Layer, Thread};
use crate::symbols::functions::ResolvedFunction;
use crate::symbols::payloads::payload;
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
    by_handle.or_else(|| stack.last().and_then(|parent| parent.kernel.clone()))
}

/// A call of a thread, inside the open ones.
pub fn call<D: Clone>(
    stack: &CallStack<D>,
    thread: &Arc<Thread>,
    resolved: &ResolvedFunction,
    entered: &EnterRecord<'_>,
    name: Option<&Arc<str>>,
    context: &Context<'_>,
) -> Call {
    let has_none = resolved.function.layer == Layer::RUNTIME && resolved.function.instance.is_none();
    let instance = has_none.then(|| context.process.names.instance_of(resolved.object).cloned()).flatten();
    let shared = &context.shared;
    let filter_reads_memory = shared.resolver.filter.asks_arguments() && (resolved.tests.is_some() || resolved.parent);
    let start = CallStart {
        thread: thread.clone(),
        function: resolved.function.clone(),
        depth: entered.depth,
        number: entered.number,
        start_ns: entered.ns,
        ticks: entered.ticks,
        caller: entered.caller,
        caller_library: match resolved.function.layer {
            Layer::HIDDEN => context.process.names.object_at(entered.caller),
            _ => None,
        },
        args: Args::from(entered.words),
        memory: if shared.decode || filter_reads_memory { entered.memory.bytes().into() } else { Box::default() },
        parent: if resolved.parent || matches!(resolved.function.layer, Layer::SYSCALL | Layer::SUBMIT) {
            stack.open().find_map(|parent| parent.call.clone()).map(Box::new)
        } else {
            None
        },
        kernel: name.cloned(),
        instance,
    };
    let is_range = shared.decode && resolved.function.range.is_some();
    let payload = || payload(&context.process.names.payloads, resolved.object as u32, entered.words, entered.memory);
    let payload = if is_range { payload() } else { None };
    let mut call = Call::new(start);
    call.inputs = payload.map(|payload| [payload].into());
    call
}

/// What a filter that asks for arguments has to know of a call.
pub fn argument_check<D: Clone>(
    stack: &mut CallStack<D>,
    resolved: &ResolvedFunction,
    call: &Call,
    process: &mut ProcessSymbols,
) -> Option<Box<ArgumentCheck>> {
    let mut inputs = None;
    if resolved.parent && resolved.function.layer == Layer::DRIVER {
        process.read_new_names();
        inputs = Some(share_parameters(stack, call, &process.names.kernels));
    }
    let is_needed = resolved.tests.is_some() || inputs.is_some();
    is_needed.then(|| Box::new(ArgumentCheck { tests: resolved.tests.clone(), inputs }))
}

/// A note of an open call. True when more is known of the call now.
pub fn apply_note<D>(open: &mut OpenCall<D>, code: u64, value: u64, process: &mut ProcessSymbols) -> bool {
    if code == note::KERNEL {
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
    if code == note::INSTANCE {
        if process.names.instance_by_id(value).is_none() {
            process.read_new_names();
        }
        let instance = process.names.instance_by_id(value).filter(|_| call.instance().is_none());
        let Some(instance) = instance else { return false };
        call.rare_mut().instance = Some(instance.clone());
    } else if code & 0xff == note::HOOK_ARGUMENT_WORD {
        let word = ((code >> 16 & 0xffff) as usize, (code >> 32) as usize, value);
        call.rare_mut().further_words.push(word);
    } else if code & 0xff == note::HOOK_RULE {
        if !process.names.rules.contains_key(&value) {
            process.read_new_names();
        }
        let rule = process.names.rules.get(&value).cloned().unwrap_or_else(|| format!("rule {value}").into());
        call.rare_mut().hook_effects.push(HookEffect { hook: rule, action: HookAction::Rule });
    } else if let Some(did) = HookAction::of_note(code, value) {
        let n = (code >> 8 & 0xff) as usize;
        if process.names.hooks.len() <= n {
            process.read_new_names();
        }
        let hook = process.names.hooks.get(n).cloned().unwrap_or_else(|| format!("hook {n}").into());
        let hooked = &mut call.rare_mut().hook_effects;
        // What was written last is what there is.
        if let HookAction::Output(n, _) = did {
            hooked.retain(|h| h.hook != hook || !matches!(h.action, HookAction::Output(of, _) if of == n));
        }
        hooked.push(HookEffect { hook, action: did });
    } else {
        return false;
    }
    true
}
