//! The runtime's private way in: primary contexts and modules from fat binaries; and the table with the check.

use super::Table;
use crate::driver::abi::{Out, answer};
use crate::driver::code;
use crate::driver::context::{self, device};
use crate::driver::driver_state::{Handle, driver_state};
use crate::keyed_answer;

pub static CUDART: Table<13> = Table::sized()
    .with(1, module as *const ())
    .with(2, primary as *const ())
    .with(6, module_with_options as *const ())
    .with(7, nothing as *const ())
    .with(8, module_of_image as *const ())
    .with(12, nothing as *const ());

/// Slot 7: runtimes 11.x hand over a pointer of theirs, for nothing that is seen. Slot 12: runtimes from 13.4 on ask
/// for the compilers to be loaded.
extern "C" fn nothing() -> u32 {
    0
}

/// From the wrapper that the compiler put into the program.
extern "C" fn module(found: Out<Handle>, wrapper: u64) -> u32 {
    answer(|| found.check()?.put(code::load(&mut driver_state(), code::image_at(wrapper)?)?))
}

extern "C" fn module_with_options(found: Out<Handle>, wrapper: u64, _names: u64, _values: u64, _count: u32) -> u32 {
    module(found, wrapper)
}

extern "C" fn module_of_image(image: u64, found: Out<Handle>, _names: u64, _values: u64, _count: u32) -> u32 {
    module(found, image)
}

extern "C" fn primary(found: Out<Handle>, ordinal: i32) -> u32 {
    answer(|| found.check()?.put(context::retain_primary(device(ordinal)?)))
}

pub static CHECK: Table<3> = Table::sized().with(1, keyed_answer::answer as *const ());
