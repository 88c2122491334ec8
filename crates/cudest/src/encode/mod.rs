//! The bytes that a GPU reads: methods of a pushbuffer, launch descriptors, the driver's part of
//! constant bank 0. No I/O and no state, so golden bytes test all of it.

pub(crate) mod bank;
pub(crate) mod format;
pub(crate) mod methods;
pub(crate) mod qmd;
#[cfg(test)]
mod truth;
