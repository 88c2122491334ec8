//! The devices of the simulated machine, and their attributes.

use crate::abi::{Answer, Fault};
use cutap_machine::config;

/// INVALID_DEVICE for an ordinal without a device.
pub fn device(ordinal: i32) -> Answer<i32> {
    if (0..config().devices).contains(&ordinal) { Ok(ordinal) } else { Err(Fault::INVALID_DEVICE) }
}

/// The value of an attribute; INVALID_VALUE for an unknown attribute.
pub fn attribute(ordinal: i32, id: u32) -> Answer<i32> {
    let value = cutap_machine::attribute(ordinal, id).ok_or(Fault::INVALID_VALUE)?;
    device(ordinal).map(|_| value)
}
