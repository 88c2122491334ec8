//! Whether a call is wanted, by conditions on its arguments. Only the call's own record decides, and no fact from other
//! calls, so the verdict does not depend on the order of threads.

use super::call_stack::CallStack;
use super::open_call::ArgumentCheck;
use crate::decode::plain::{parameters_in, plain_inputs, plain_outputs};
use crate::event::value::Value;
use crate::event::{Call, Exit, Layer};
use crate::filter::{ArgumentValue, CallUnderTest};
use crate::kernels::names::Kernels;
use crate::symbols::functions::{Launch, launch_of};
use cutap_calls::known::{Dir, Rule};

/// Whether the call is wanted; `None` when that is not known yet. At its end everything is known.
pub fn evaluate(check: &ArgumentCheck, call: &Call, exit: Option<&Exit>) -> Option<bool> {
    let Some(tests) = &check.tests else { return Some(true) };
    let inputs = check.inputs(call);
    let outputs = exit.map(|exit| plain_outputs(call, exit));
    // Of a runtime's call its driver's tells more.
    let tells_more =
        call.function.layer != Layer::DRIVER && call.function.described.is_some_and(|d| d.resolves_caller_args());
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
    let caller = call.caller_library.as_deref();
    tests.evaluate(&mut CallUnderTest { values: &mut values, kernel, kernel_later, owner, caller })
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

/// The arguments of a launch of the driver with its kernel's parameters. The calls around it, of which a runtime passed
/// the parameters on, get them too.
pub fn share_parameters<D: Clone>(stack: &mut CallStack<D>, launch: &Call, kernels: &Kernels) -> Box<[Value]> {
    let inputs = plain_inputs(launch, Some(kernels));
    let mut parameters_by_address = Vec::new();
    inputs
        .iter()
        .for_each(|value| parameters_in(value, &mut |at, parameters| parameters_by_address.push((at, parameters))));
    for open in stack.open_mut().take_while(|_| !parameters_by_address.is_empty()) {
        let Some(call) = &open.call else { continue };
        if let Some(check) = open.argument_check.as_mut().filter(|check| check.inputs.is_none()) {
            let mut inputs = plain_inputs(call, None);
            let mut place = |(at, parameters): &&(u64, &Value)| {
                inputs.iter_mut().any(|value| replace_address(value, *at, parameters))
            };
            if parameters_by_address.iter().filter(|entry| place(entry)).count() > 0 {
                check.inputs = Some(inputs);
            }
        }
        // What a call takes no parameters of, it has none to pass on.
        if !call.function.described.is_some_and(|d| d.resolves_caller_args()) {
            break;
        }
    }
    inputs
}

/// Puts the parameters where their address stands; whether it does.
fn replace_address(value: &mut Value, at: u64, parameters: &Value) -> bool {
    match value {
        Value::Address(address, None) if *address == at => {
            *value = Value::Pointee(at, Box::new(parameters.clone()));
            true
        }
        Value::Pointee(_, to) => replace_address(to, at, parameters),
        Value::Struct(fields) => fields.values.iter_mut().any(|(_, value)| replace_address(value, at, parameters)),
        Value::Array(items) => items.values.iter_mut().any(|value| replace_address(value, at, parameters)),
        _ => false,
    }
}
