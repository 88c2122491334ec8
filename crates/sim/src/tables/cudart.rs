//! The runtime's private way in: primary contexts and modules from fat binaries; and the table with the check.

use super::Table;
use crate::driver::abi::{Out, answer};
use crate::driver::context::{self, device};
use crate::driver::world::Handle;
use crate::keyed_answer;

pub static CUDART: Table<13> = Table::sized().with(2, primary as *const ());

extern "C" fn primary(found: Out<Handle>, ordinal: i32) -> u32 {
    answer(|| found.check()?.put(context::retain_primary(device(ordinal)?)))
}

pub static CHECK: Table<3> = Table::sized().with(1, keyed_answer::answer as *const ());
