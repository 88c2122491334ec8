//! Ids of graphs and of their nodes, as the driver has them.

use cutap_calls::generated::gpu_time::result;
use cutap_machine::{GRAPH_IDS_SYMBOL, GraphIds};

/// Gets an id from the driver. `read` calls one of its functions.
fn id_from_driver(read: impl FnOnce(&GraphIds) -> u32) -> u32 {
    // SAFETY: the driver is held loaded while its symbol is used, and by its name the symbol is a GraphIds.
    let answer = unsafe {
        let driver = libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if driver.is_null() {
            return result::NOT_INITIALIZED;
        }
        let ids = libc::dlsym(driver, GRAPH_IDS_SYMBOL.as_ptr()).cast::<GraphIds>().as_ref();
        let answer = ids.map(read);
        libc::dlclose(driver);
        answer
    };
    if answer == Some(0) { 0 } else { result::INVALID_PARAMETER }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuptiGetGraphId(graph: u64, id: *mut u32) -> u32 {
    id_from_driver(|ids| (ids.of_graph)(graph, id))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuptiGetGraphExecId(executable: u64, id: *mut u32) -> u32 {
    id_from_driver(|ids| (ids.of_executable)(executable, id))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuptiGetGraphNodeId(node: u64, id: *mut u64) -> u32 {
    id_from_driver(|ids| (ids.of_node)(node, id))
}
