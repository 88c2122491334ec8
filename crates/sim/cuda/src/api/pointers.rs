//! Attributes of addresses.

use crate::abi::{Answer, Fault, In, Out, answer};
use crate::state::{Allocation, Handle, Kind, driver_state};

const HOST: u32 = 1;
const DEVICE: u32 = 2;
/// The granularity of mappings that the driver reports.
const BLOCK: u64 = 2 << 20;

/// Writes an attribute of an address; each has its own type. With `many`, an attribute without a meaning for the
/// address is no error.
fn put(value: u64, id: u32, address: u64, allocation: Option<(u64, &Allocation)>, many: bool) -> Answer {
    let word = |w: u64| Out::<u64>::at(value).put(w);
    let half = |w: u32| Out::<u32>::at(value).put(w);
    let Some((start, a)) = allocation else {
        // The driver does not know this address.
        return match id {
            2 | 8 | 13 | 16 => half(0),
            9 => half(-2i32 as u32),
            1 | 3 | 4 | 5 | 7 | 11 | 12 | 14 | 17..=20 => word(0),
            6 | 10 | 15 | 21 => half(0),
            _ => Err(Fault::INVALID_VALUE),
        };
    };
    let on_host = !a.on_device() || a.kind == Kind::Managed;
    match id {
        1 => word(a.context.0),
        2 => half(if a.on_device() { DEVICE } else { HOST }),
        3 => word(address),
        4 if on_host => word(address),
        4 if many => word(0),
        5 => Out::<[u64; 2]>::at(value).put([start, a.id]),
        6 => half(0),
        7 => word(a.id),
        8 => half((a.kind == Kind::Managed).into()),
        9 => half(a.device as u32),
        10 => half((a.kind == Kind::Device && a.pool == Handle::NULL).into()),
        11 => word(start),
        12 => word(a.size),
        13 => half(1),
        14 => word(0),
        15 => half(a.on_device().into()),
        16 => half(3),
        17 => word(a.pool.0),
        18 if a.kind == Kind::Device => word(a.size.next_multiple_of(BLOCK)),
        18 => word(a.size),
        19 if a.kind == Kind::Device => word(start & !(BLOCK - 1)),
        19 => word(start),
        20 => word(a.id),
        21 => half(0),
        _ => Err(Fault::INVALID_VALUE),
    }
}

pub extern "C" fn cuPointerGetAttribute(value: u64, id: u32, address: u64) -> u32 {
    answer(|| {
        let state = driver_state();
        put(value, id, address, Some(state.memory.find(address).ok_or(Fault::INVALID_VALUE)?), false)
    })
}

/// Several attributes. An unknown address is no error.
pub extern "C" fn cuPointerGetAttributes(count: u32, ids: In<u32>, values: In<u64>, address: u64) -> u32 {
    answer(|| {
        if count == 0 {
            return Err(Fault::INVALID_VALUE);
        }
        let state = driver_state();
        let allocation = state.memory.find(address);
        ids.check_count(count as usize).and(values.check_count(count as usize))?;
        (0..count as usize).try_for_each(|n| put(values.get_at(n)?, ids.get_at(n)?, address, allocation, true))
    })
}

/// Only attribute 6 can be set: synchronous copies, which has no effect.
pub extern "C" fn cuPointerSetAttribute(value: u64, id: u32, address: u64) -> u32 {
    answer(|| match driver_state().memory.find(address) {
        Some(_) if id == 6 && value != 0 => Ok(()),
        _ => Err(Fault::INVALID_VALUE),
    })
}
