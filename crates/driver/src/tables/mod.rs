//! The hidden tables that cuGetExportTable returns, as far as runtimes ask for them. A file holds one family of
//! tables and the functions in their slots, which follow the same rules as the functions in `api/`.

pub mod clusters;
mod context;
mod cudart;
mod functions;
mod keyed_answer;
mod table;
mod tools;

use std::ffi::c_void;
use std::sync::atomic::Ordering;

/// The tables and their UUIDs.
static ALL: [([u8; 16], &dyn table::AnyTable); 9] = [
    (cutap_calls::CALLBACK_TABLE, &tools::CALLBACKS),
    (cutap_calls::STREAM_ID_TABLE, &tools::TOOLS),
    (cutap_calls::CONTEXT_TABLE, &context::CURRENT),
    (cutap_calls::STORAGE_TABLE, &context::STORAGE),
    (cutap_calls::CONTEXT_CHECKS_TABLE, &context::CHECKS),
    (cutap_calls::CUDART_TABLE, &cudart::CUDART),
    (cutap_calls::CHECK_TABLE, &cudart::CHECK),
    (clusters::UUID, &clusters::CLUSTERS),
    (functions::UUID, &functions::FUNCTIONS),
];

/// The name of each known slot that was called, such as `21318c60[51]`, and the number of its calls.
pub fn called() -> Vec<(String, u64)> {
    let of_table = |(uuid, table): &([u8; 16], &dyn table::AnyTable)| {
        let calls = table.calls().iter().map(|calls| calls.load(Ordering::Relaxed)).enumerate();
        let short = u32::from_be_bytes([uuid[0], uuid[1], uuid[2], uuid[3]]);
        calls.filter(|(_, n)| *n > 0).map(|(slot, n)| (format!("{short:08x}[{slot}]"), n)).collect::<Vec<_>>()
    };
    ALL.iter().flat_map(of_table).collect()
}

/// The address of a table.
pub fn find(uuid: &[u8; 16]) -> Option<*const c_void> {
    Some(match *uuid {
        cutap_calls::CALLBACK_TABLE => tools::CALLBACKS.address(),
        cutap_calls::STREAM_ID_TABLE => tools::TOOLS.address(),
        cutap_calls::CONTEXT_TABLE => context::CURRENT.address(),
        cutap_calls::STORAGE_TABLE => context::STORAGE.address(),
        cutap_calls::CONTEXT_CHECKS_TABLE => context::CHECKS.address(),
        cutap_calls::CUDART_TABLE => cudart::CUDART.address(),
        cutap_calls::CHECK_TABLE => cudart::CHECK.address(),
        clusters::UUID => clusters::CLUSTERS.address(),
        functions::UUID => functions::FUNCTIONS.address(),
        _ => return None,
    })
}
