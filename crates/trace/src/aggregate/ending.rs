//! How a call ended, and whether a filter that must see that wants it.

use super::aggregator::Frame;
use crate::event::{Exit, Function, State};
use crate::filter::Filter;
use crate::pair::filter_eval::evaluate;

/// How a call ended, as its record says.
pub(super) struct Ending<'a> {
    /// When; `None` where no record says it.
    pub ticks: Option<u64>,
    pub result: u64,
    pub state: State,
    /// It was given up before.
    pub late: bool,
    pub memory: &'a [u8],
}

impl Ending<'_> {
    /// With no result, and no time.
    pub fn plain(state: State) -> Ending<'static> {
        Ending { ticks: None, result: 0, state, late: false, memory: &[] }
    }
}

/// Whether a call that its end decides is wanted; `took_ns` if that is known.
pub(super) fn wanted(
    filter: &Filter,
    frame: &Frame,
    function: &Function,
    ending: &Ending<'_>,
    took_ns: Option<u64>,
) -> bool {
    let error = ending.state == State::Returned && function.status(ending.result).is_some_and(|s| s != 0);
    let holds = !filter.needs_end() || filter.shows_end(error, took_ns);
    holds
        && frame.asked.as_ref().is_none_or(|asked| {
            let (Some(tests), call) = (&asked.tests, &asked.call) else { return true };
            let mut exit = Exit::without_return(call.clone(), ending.state, call.start_ns);
            (exit.result, exit.memory) = (ending.result, ending.memory.into());
            evaluate(tests, call, Some(&exit)) == Some(true)
        })
}
