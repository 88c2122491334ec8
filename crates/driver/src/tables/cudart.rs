//! The private table of the runtime, for primary contexts and modules from fat binaries, and the table with the
//! check.

use super::keyed_answer::{self, Tables};
use super::table::{AnyTable, Table, TableType};
use crate::abi::{Out, answer};
use crate::driver::device::device;
use crate::driver::{code, context};
use crate::state::{Handle, driver_state};

pub static CUDART: Table<Cudart, 13> = Table::sized()
    .with::<1>(module as *const ())
    .with::<2>(primary as *const ())
    .with::<6>(module_with_options as *const ())
    .with::<7>(nothing as *const ())
    .with::<8>(module_of_image as *const ())
    .with::<12>(nothing as *const ());

/// Slot 7: runtimes 11.x pass a pointer, without a visible effect. Slot 12: runtimes from 13.4 on request that the
/// compilers are loaded.
extern "C" fn nothing() -> u32 {
    0
}

/// A module from the wrapper that the compiler put into the program.
extern "C" fn module(module_out: Out<Handle>, wrapper: u64) -> u32 {
    answer(|| {
        module_out.check()?;
        let image = code::image_at(wrapper)?;
        module_out.put(code::load(&mut driver_state(), image)?)
    })
}

extern "C" fn module_with_options(
    module_out: Out<Handle>,
    wrapper: u64,
    _names: u64,
    _values: u64,
    _count: u32,
) -> u32 {
    module(module_out, wrapper)
}

extern "C" fn module_of_image(image: u64, module_out: Out<Handle>, _names: u64, _values: u64, _count: u32) -> u32 {
    module(module_out, image)
}

extern "C" fn primary(context_out: Out<Handle>, ordinal: i32) -> u32 {
    answer(|| context_out.check()?.put(context::retain_primary(device(ordinal)?)))
}

pub static CHECK: Table<Check, 3> = Table::sized().with::<1>(check as *const ());

extern "C" fn check(version: u32, seconds: u64, out: Out<[u8; 16]>) -> u32 {
    let tables = Tables {
        cudart: CUDART.address() as u64,
        check: CHECK.address() as u64,
        check_size: CHECK.word(0) as u64,
        function: CHECK.word(1) as u64,
    };
    out.put_if_wanted(keyed_answer::answer(version, seconds, &tables));
    0
}

/// Stands for [`CUDART`].
pub struct Cudart;

impl TableType for Cudart {
    fn table() -> &'static dyn AnyTable {
        &CUDART
    }
}

/// Stands for [`CHECK`].
pub struct Check;

impl TableType for Check {
    fn table() -> &'static dyn AnyTable {
        &CHECK
    }
}
