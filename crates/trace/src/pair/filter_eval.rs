//! Whether a call is wanted when its name does not tell: conditions on its end, and on arguments. Those
//! are asked of the values that its own record tells, without what other calls told before.

use super::call_stack::{Open, Shown};
use super::shared::Shared;
use crate::decode::plain::{parameters_in, plain_inputs, plain_outputs};
use crate::event::value::Value;
use crate::event::{Call, Exit, Layer, State};
use crate::filter::{ArgumentValue, CallUnderTest, Filter, Tests};
use crate::kernels::names::Kernels;
use crate::symbols::functions::{KnownFunction, Launch, launch_of};
use cutap_calls::known::{Dir, Rule};

/// Whether the call is wanted; `None` when that is not known yet.
pub fn evaluate(tests: &Tests, call: &Call, exit: Option<&Exit>) -> Option<bool> {
    let told = call.evaluated.get();
    let plain = if told.is_none() { plain_inputs(call, None) } else { Box::default() };
    let inputs = told.unwrap_or(&plain);
    let outputs = exit.map(|exit| plain_outputs(call, exit));
    // Of a runtime's call its driver's tells more.
    let tells_more =
        call.function.layer != Layer::DRIVER && call.function.described.is_some_and(|d| d.tells_its_caller());
    let mut values = |name: &str| -> Option<ArgumentValue> {
        let n = call.function.params().iter().position(|p| p.name == name)?;
        let param = call.function.params().get(n)?;
        // Of memory there is the address only, whoever writes it.
        use Rule::{Either, From, Host, Memory, To};
        let address = matches!(param.rule, Memory(_) | Host(_) | Either(_) | From(..) | To(..));
        let dir = if address { Dir::In } else { param.dir };
        let input = || inputs.get(n).cloned().unwrap_or(Value::Missing);
        Some(match &outputs {
            None if dir == Dir::In && tells_more => ArgumentValue::SoFar(input()),
            _ if dir == Dir::In => ArgumentValue::Whole(input()),
            None => ArgumentValue::SoFar(pointer(input())),
            Some(outputs) => {
                let written = outputs.iter().find(|(of, _)| usize::from(*of) == n).map(|(_, value)| value.clone());
                let before = || if dir == Dir::InOut { input() } else { pointer(input()) };
                ArgumentValue::Whole(written.unwrap_or_else(before))
            }
        })
    };
    let (kernel, kernel_later) = match exit {
        Some(exit) => (exit.kernel(), false),
        // A driver's launch has the name when it begins, or never.
        None => (call.kernel(), launch_of(&call.function) == Launch::Reported && call.function.layer == Layer::RUNTIME),
    };
    let owner = (call.thread.process.pid, call.thread.tid);
    let kernel = kernel.map(|k| &**k);
    tests.evaluate(&mut CallUnderTest { values: &mut values, kernel, kernel_later, owner })
}

/// A pointer to what the call writes, before that is known: whether it is NULL can be said, and no more.
fn pointer(value: Value) -> Value {
    match value {
        Value::Null => Value::Null,
        Value::Pointee(at, _) | Value::Address(at, _) | Value::Wild(at) | Value::Opaque(at) => {
            Value::Pointee(at, Box::new(Value::Missing))
        }
        _ => Value::Missing,
    }
}

/// A launch of the driver, for conditions on its kernel's parameters; the runtime's calls around it get them
/// too.
pub fn launch(call: &Call, kernels: &Kernels) {
    if call.function.layer != Layer::DRIVER {
        return;
    }
    let inputs = plain_inputs(call, Some(kernels));
    let mut found = Vec::new();
    inputs.iter().for_each(|value| parameters_in(value, &mut |at, parameters| found.push((at, parameters))));
    let mut above = call.parent.as_ref().filter(|_| !found.is_empty());
    while let Some(parent) = above {
        let mut inputs = plain_inputs(parent, None);
        let mut here = |(at, parameters): &&(u64, &Value)| inputs.iter_mut().any(|value| put(value, *at, parameters));
        if found.iter().filter(|told| here(told)).count() > 0 {
            let _ = parent.evaluated.set(inputs);
        }
        above = parent.parent.as_ref();
    }
    let _ = call.evaluated.set(inputs);
}

/// Puts the parameters where their address stands; whether it does.
fn put(value: &mut Value, at: u64, parameters: &Value) -> bool {
    match value {
        Value::Address(address, None) if *address == at => {
            *value = Value::Pointee(at, Box::new(parameters.clone()));
            true
        }
        Value::Pointee(_, to) => put(to, at, parameters),
        Value::Struct(fields) => fields.values.iter_mut().any(|(_, value)| put(value, at, parameters)),
        Value::Array(items) => items.values.iter_mut().any(|value| put(value, at, parameters)),
        _ => false,
    }
}

/// Whether a call that its end decides is wanted; `took_ns` if that is known.
pub fn wanted_at_end(exit: &Exit, took_ns: Option<u64>, open: &Open, filter: &Filter) -> bool {
    (!filter.needs_end() || filter.shows_end(exit.is_error(), took_ns))
        && open.tests.as_ref().is_none_or(|tests| evaluate(tests, &exit.call, Some(exit)) == Some(true))
}

/// An open call as one that never ended, if it is shown.
pub fn unfinished(open: &Open, filter: &Filter, now: u64) -> Option<Exit> {
    let call = open.call.clone()?;
    let end_ns = now.max(call.start_ns);
    let exit = Exit::without_return(call, State::Unfinished, end_ns);
    let shown = match open.shown {
        Shown::Yes => true,
        Shown::No => false,
        Shown::DecideAtExit => wanted_at_end(&exit, None, open, filter),
    };
    shown.then_some(exit)
}

/// Whether the call of this function may tell of the one around it what the filter asks.
pub fn provides(shared: &Shared, known: &KnownFunction) -> bool {
    known.parent && shared.resolver.filter.asks_arguments()
}

/// Whether the interpreter learns from calls that are not shown.
pub fn looked_at(shared: &Shared, known: &KnownFunction) -> bool {
    shared.decode && known.function.described.is_some()
}
