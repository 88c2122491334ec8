//! The hidden tables that cuGetExportTable returns, as far as runtimes ask for them. A file holds one family of
//! tables and the functions in their slots, which follow the same rules as the functions in `api/`.

mod clusters;
mod context;
mod cudart;
mod functions;
mod keyed_answer;
mod table;
mod tools;

use std::ffi::c_void;

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
