//! Conditions on arguments, asked of a call: on the values that its own record tells, without what other
//! calls told before.

use crate::decode::{Value, plain_inputs, plain_outputs};
use crate::event::{Call, Exit};
use crate::filter::{Judged, Tests};
use cutap_calls::known::Dir;

/// Whether the call is wanted; `None` when that is not known yet.
pub fn judge(tests: &Tests, call: &Call, exit: Option<&Exit>) -> Option<bool> {
    let inputs = plain_inputs(call);
    let outputs = exit.map(|exit| plain_outputs(call, exit));
    let mut values = |name: &str| -> Option<Value> {
        let n = call.function.params().iter().position(|p| p.name == name)?;
        let dir = call.function.params().get(n)?.dir;
        let input = || inputs.get(n).cloned();
        match &outputs {
            _ if dir == Dir::In => input(),
            // What it will write is not known yet.
            None => None,
            Some(outputs) => {
                let written = outputs.iter().find(|(of, _)| usize::from(*of) == n).map(|(_, value)| value.clone());
                written.or_else(|| input().filter(|_| dir == Dir::InOut))
            }
        }
    };
    let kernel = match exit {
        Some(exit) => exit.kernel(),
        None => call.kernel(),
    };
    tests.judge(&mut Judged { values: &mut values, kernel: kernel.map(|k| &**k) })
}
