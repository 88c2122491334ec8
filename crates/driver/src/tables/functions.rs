//! A visitor for the functions of a module. cuFFT uses it when it makes a plan.

use super::table::{AnyTable, Table, TableType};
use crate::abi::lifecycle;
use crate::driver::code;
use crate::state::{Handle, driver_state};
use std::ffi::c_void;

/// 6e163fbe-b958-444d-835c-e182aff1991e, as bytes in memory.
pub const UUID: [u8; 16] =
    [0x6e, 0x16, 0x3f, 0xbe, 0xb9, 0x58, 0x44, 0x4d, 0x83, 0x5c, 0xe1, 0x82, 0xaf, 0xf1, 0x99, 0x1e];

/// Slot 7 has the arguments context, module, function to call, its data. They were found in a call of cuFFT 12.2.
pub static FUNCTIONS: Table<Functions, 96> = Table::sized().with::<7>(each as *const ());

/// Arguments: data, function.
type Visit = extern "C" fn(*mut c_void, Handle);

/// Calls the visitor for each function. Returns the number of functions.
extern "C" fn each(_context: Handle, module: Handle, visit: Option<Visit>, data: *mut c_void) -> u32 {
    if lifecycle::require_started().is_err() {
        return 0;
    }
    let functions: Vec<Handle> = {
        let mut state = driver_state();
        let count = state.code.modules.get(&module).map_or(0, |m| m.image.kernels.len());
        (0..count).filter_map(|index| code::function_at(&mut state, module, index).ok()).collect()
    };
    if let Some(visit) = visit {
        functions.iter().for_each(|function| visit(data, *function));
    }
    functions.len() as u32
}

/// Stands for [`FUNCTIONS`].
pub struct Functions;

impl TableType for Functions {
    fn table() -> &'static dyn AnyTable {
        &FUNCTIONS
    }
}
