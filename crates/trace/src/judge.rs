//! Whether a call is wanted when its name does not tell: conditions on its end, and on arguments. Those
//! are asked of the values that its own record tells, without what other calls told before.

use crate::calls::{Open, Shown};
use crate::decode::{Value, plain_inputs, plain_outputs};
use crate::event::{Call, Exit, State};
use crate::filter::{Filter, Judged, Tests};
use cutap_calls::known::Dir;

/// Whether the call is wanted; `None` when that is not known yet.
pub fn judge(tests: &Tests, call: &Call, exit: Option<&Exit>) -> Option<bool> {
    let inputs = plain_inputs(call);
    let outputs = exit.map(|exit| plain_outputs(call, exit));
    let mut values = |name: &str| -> Option<Value> {
        let n = call.function.params().iter().position(|p| p.name == name)?;
        let dir = call.function.params().get(n)?.dir;
        let input = || inputs.get(n).cloned();
        // Nowhere to write to.
        let null = || input().filter(|v| matches!(v, Value::Null));
        match &outputs {
            _ if dir == Dir::In => input(),
            // What it will write is not known yet.
            None => null(),
            Some(outputs) => {
                let written = outputs.iter().find(|(of, _)| usize::from(*of) == n).map(|(_, value)| value.clone());
                written.or_else(|| input().filter(|_| dir == Dir::InOut)).or_else(null)
            }
        }
    };
    let kernel = match exit {
        Some(exit) => exit.kernel(),
        None => call.kernel(),
    };
    tests.judge(&mut Judged { values: &mut values, kernel: kernel.map(|k| &**k) })
}

/// Whether a call that its end decides is wanted.
pub fn wanted_at_end(exit: &Exit, open: &Open, filter: &Filter) -> bool {
    let took = exit.duration_ns.unwrap_or(exit.end_ns.saturating_sub(exit.call.start_ns));
    (!filter.needs_end() || filter.shows_end(exit.is_error(), took))
        && open.tests.as_ref().is_none_or(|tests| judge(tests, &exit.call, Some(exit)) == Some(true))
}

/// An open call as one that never ended, if it is shown.
pub fn unfinished(open: &Open, filter: &Filter, now: u64) -> Option<Exit> {
    let call = open.call.clone()?;
    let end_ns = now.max(call.start_ns);
    let exit = Exit::without_return(call, State::Unfinished, end_ns);
    let shown = match open.shown {
        Shown::Yes => true,
        Shown::No => false,
        Shown::AtEnd => wanted_at_end(&exit, open, filter),
    };
    shown.then_some(exit)
}
