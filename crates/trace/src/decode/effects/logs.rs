//! The linker's logs: the call that makes a linker says where they are. Later calls add to them, although no argument
//! leads there.

use super::operands::{kind_of, raw};
use crate::decode::state::process_state::ProcessState;
use crate::decode::values::row::Row;
use crate::decode::values::text;
use crate::decode::values::walk::Walk;
use crate::event::Log;
use crate::event::value::{Text, Value};
use cutap_calls::capture::LOG_OPTIONS;
use cutap_calls::known::Effect;

/// Linkers that are followed.
const MOST: usize = 1 << 12;
/// What the logs are called, by their number.
const NAMES: [&str; 2] = ["info_log", "error_log"];

/// A linker was made.
pub fn remember(state: &mut ProcessState, walk: &Walk<'_>, row: &Row<'_>, of: u8, keys: u8, values: u8) {
    let Some((_, linker)) = kind_of(walk, walk.memory, row, of) else { return };
    let bytes_before = |n| raw(walk, row, n).and_then(|at| walk.before.at(at)).map_or(&[][..], |f| f.bytes);
    let (keys, values) = (bytes_before(keys).as_chunks::<4>().0, bytes_before(values).as_chunks::<8>().0);
    let value = |option: u32| {
        let n = keys.iter().position(|key| u32::from_le_bytes(*key) == option)?;
        values.get(n).map(|value| u64::from_le_bytes(*value))
    };
    let buffer = |option| Some((value(option)?, value(option + 1)? & u64::from(u32::MAX)));
    let logs = LOG_OPTIONS.map(|option| buffer(option).map_or(0..0, |(at, bytes)| at..at.saturating_add(bytes)));
    state.linker_logs.0.remove(&linker);
    if state.linker_logs.0.len() < MOST && logs.iter().any(|log| !log.is_empty()) {
        state.linker_logs.0.insert(linker, logs);
    }
}

/// What a call has added to the logs of the linker that it was given.
pub fn added(walk: &Walk<'_>, state: &ProcessState, row: &Row<'_>, effects: &[Effect]) -> Box<[Log]> {
    let logs_of = |effect: &Effect| match effect {
        Effect::TellsLogs(n) => state.linker_logs.0.get(&raw(walk, row, *n)?),
        _ => None,
    };
    let Some(logs) = effects.iter().find_map(logs_of) else { return Box::default() };
    let pieces = logs.iter().zip(NAMES).filter_map(|(log, name)| {
        let piece = walk.memory.pieces().find(|f| log.contains(&f.address))?;
        match text::value(piece.bytes, piece.full_length.into(), false) {
            Value::Text(text) => {
                Some(Log { name, text: Text { cut: piece.bytes.len() < piece.full_length as usize, ..*text } })
            }
            _ => None,
        }
    });
    pieces.collect()
}
