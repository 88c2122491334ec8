//! The arguments of a call between its parentheses: names and values if the function has a description, else the raw
//! words.

use crate::call::values::{write_launched, write_value};
use crate::format::units::word;
use cutap_calls::known::Dir;
use cutap_trace::decode::Value;
use cutap_trace::{Call, Exit};

/// The recorded words of a call whose number of arguments is not known: the argument registers.
const REGISTERS: usize = 6;

/// `word, word, ...`.
pub fn words(words: &[u64], to: &mut String) {
    for (n, value) in words.iter().enumerate() {
        if n > 0 {
            to.push_str(", ");
        }
        word(*value, to);
    }
    if words.len() == REGISTERS {
        to.push_str(", ...");
    }
}

/// `name=value, name=value`. After the call, an argument that it wrote has the new value.
pub fn inputs(call: &Call, exit: Option<&Exit>, to: &mut String) {
    for (n, (param, input)) in call.function.params().iter().zip(call.inputs()).enumerate() {
        if n > 0 {
            to.push_str(", ");
        }
        to.push_str(param.name);
        to.push('=');
        match exit.and_then(|e| e.output(n)) {
            Some(output) if param.dir == Dir::InOut => changed(input, output, call, to),
            Some(output) => write_launched(output, call.driver_args(), to),
            None => write_launched(input, call.driver_args(), to),
        }
    }
}

/// The values that the opening line could not have: `(name=value)`, or nothing. `told`: it had the parameters of the
/// kernel.
pub fn outputs(exit: &Exit, told: bool, to: &mut String) {
    let call = &exit.call;
    let launched = call.driver_args().filter(|_| !told);
    let mut sign = '(';
    for (n, (param, input)) in call.function.params().iter().zip(call.inputs()).enumerate() {
        let displayed = exit.output(n).unwrap_or(input);
        let launched = launched.filter(|l| l.has_value_in(displayed));
        let Some(value) = exit.output(n).or(launched.map(|_| input)) else { continue };
        to.push(sign);
        to.push_str(if sign == ',' { " " } else { "" });
        to.push_str(param.name);
        to.push('=');
        write_launched(value, call.driver_args(), to);
        sign = ',';
    }
    if sign == ',' {
        to.push(')');
    }
}

/// A number that the call has changed: the old and the new value.
fn changed(input: &Value, output: &Value, call: &Call, to: &mut String) {
    let (before, after) = (input.target(), output.target());
    let simple = |v: &Value| v.number().is_some() && !matches!(v, Value::Address(..));
    if matches!(input, Value::Pointee(..)) && simple(before) && simple(after) && before.number() != after.number() {
        write_value(input, to);
        to.push_str(" -> ");
        return write_value(after, to);
    }
    write_launched(output, call.driver_args(), to);
}
