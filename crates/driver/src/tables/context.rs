//! The current context without callbacks, values that a runtime stores with a context, and checks of a context.

use super::table::{AnyTable, Table, TableType};
use crate::abi::{Fault, Out, answer};
use crate::driver::current;
use crate::state::{Destructor, Handle, Stored, driver_state};

pub static CURRENT: Table<Current, 3> = Table::sized().with::<1>(set as *const ()).with::<2>(get as *const ());

extern "C" fn set(context: Handle) -> u32 {
    current::set(context);
    0
}

extern "C" fn get(context: Out<Handle>) -> u32 {
    context.put_if_wanted(current::get());
    0
}

/// This table has no size word.
pub static STORAGE: Table<Storage, 3> =
    Table::sized().with::<0>(put as *const ()).with::<1>(delete as *const ()).with::<2>(take as *const ());

/// The context of a handle. NULL means the current one.
fn context(handle: Handle) -> Handle {
    if handle == Handle::NULL { current::get() } else { handle }
}

extern "C" fn put(handle: Handle, key: u64, value: u64, destructor: Option<Destructor>) -> u32 {
    answer(|| {
        let mut state = driver_state();
        let context = state.context.contexts.get_mut(&context(handle)).ok_or(Fault::INVALID_CONTEXT)?;
        context.storage.insert(key, Stored { value, destructor });
        Ok(())
    })
}

extern "C" fn delete(handle: Handle, key: u64) -> u32 {
    answer(|| {
        let mut state = driver_state();
        let context = state.context.contexts.get_mut(&context(handle)).ok_or(Fault::INVALID_CONTEXT)?;
        context.storage.remove(&key).map(drop).ok_or(Fault::INVALID_HANDLE)
    })
}

extern "C" fn take(value: Out<u64>, handle: Handle, key: u64) -> u32 {
    answer(|| {
        let state = driver_state();
        let context = state.context.contexts.get(&context(handle)).ok_or(Fault::INVALID_CONTEXT)?;
        value.put(context.storage.get(&key).ok_or(Fault::INVALID_HANDLE)?.value)
    })
}

pub static CHECKS: Table<Checks, 5> = Table::sized().with::<2>(check as *const ()).with::<3>(fine as *const ());

/// Whether a capture forbids the use of a context. It never does here.
extern "C" fn check(_context: Handle, is_forbidden: Out<u32>, _what: Out<u64>) -> u32 {
    is_forbidden.put_if_wanted(0);
    0
}

extern "C" fn fine() -> u32 {
    0
}

/// Stands for [`CURRENT`].
pub struct Current;

impl TableType for Current {
    fn table() -> &'static dyn AnyTable {
        &CURRENT
    }
}

/// Stands for [`STORAGE`].
pub struct Storage;

impl TableType for Storage {
    fn table() -> &'static dyn AnyTable {
        &STORAGE
    }
}

/// Stands for [`CHECKS`].
pub struct Checks;

impl TableType for Checks {
    fn table() -> &'static dyn AnyTable {
        &CHECKS
    }
}
