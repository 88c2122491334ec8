//! Values that a stream writes to memory or waits for; and what can be set for a stream.

use crate::api::streams::in_order;
use crate::driver::abi::{In, Out, answer};
use crate::driver::allocation;
use crate::driver::context;
use crate::driver::engine;
use crate::driver::fault::{Answer, Fault};
use crate::driver::stream::Work;
use crate::driver::world::{Handle, world};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The word at an address that was checked: 4 or 8 bytes of memory known to the driver, aligned.
#[derive(Clone, Copy)]
enum Word {
    Half(u64),
    Whole(u64),
}

impl Word {
    fn check(self) -> Answer<Self> {
        let (Word::Half(address) | Word::Whole(address)) = self;
        let size = if matches!(self, Word::Half(_)) { 4 } else { 8 };
        if address % size != 0 {
            return Err(Fault::INVALID_VALUE);
        }
        allocation::require(&world(), address, size).map(|()| self)
    }

    fn store(self, value: u64) {
        // SAFETY: `check` found the word in an allocation and aligned.
        match self {
            Word::Half(at) => unsafe { AtomicU32::from_ptr(at as *mut u32) }.store(value as u32, Ordering::SeqCst),
            Word::Whole(at) => unsafe { AtomicU64::from_ptr(at as *mut u64) }.store(value, Ordering::SeqCst),
        }
    }

    /// How to compare: 0 not less (with wrap), 1 equal, 2 and, 3 nor.
    fn holds(self, value: u64, how: u32) -> bool {
        // SAFETY: as in `store`.
        let (now, less, all) = match self {
            Word::Half(at) => {
                let now = unsafe { AtomicU32::from_ptr(at as *mut u32) }.load(Ordering::SeqCst);
                (u64::from(now), (now.wrapping_sub(value as u32) as i32) < 0, u64::from(u32::MAX))
            }
            Word::Whole(at) => {
                let now = unsafe { AtomicU64::from_ptr(at as *mut u64) }.load(Ordering::SeqCst);
                (now, (now.wrapping_sub(value) as i64) < 0, u64::MAX)
            }
        };
        match how {
            0 => !less,
            1 => now == value,
            2 => now & value != 0,
            _ => !(now | value) & all != 0,
        }
    }
}

fn write(stream: Handle, word: Word, value: u64) -> u32 {
    answer(|| {
        let word = word.check()?;
        in_order(stream, move || word.store(value))
    })
}

fn wait(stream: Handle, word: Word, value: u64, flags: u32) -> u32 {
    answer(|| {
        let word = word.check()?;
        let mut world = world();
        let stream = context::stream(&mut world, stream)?;
        engine::submit(world, stream, Work::Until(Box::new(move || word.holds(value, flags & 3))))
    })
}

pub extern "C" fn cuStreamWriteValue32_v2(stream: Handle, address: u64, value: u32, _flags: u32) -> u32 {
    write(stream, Word::Half(address), value.into())
}

pub extern "C" fn cuStreamWriteValue64_v2(stream: Handle, address: u64, value: u64, _flags: u32) -> u32 {
    write(stream, Word::Whole(address), value)
}

pub extern "C" fn cuStreamWaitValue32_v2(stream: Handle, address: u64, value: u32, flags: u32) -> u32 {
    wait(stream, Word::Half(address), value.into(), flags)
}

pub extern "C" fn cuStreamWaitValue64_v2(stream: Handle, address: u64, value: u64, flags: u32) -> u32 {
    wait(stream, Word::Whole(address), value, flags)
}

/// CUlaunchAttributeValue, of which a stream only keeps the bytes.
pub type Value = [u64; 8];
const PRIORITY: u32 = 8;

pub extern "C" fn cuStreamGetAttribute(handle: Handle, id: u32, value: Out<Value>) -> u32 {
    answer(|| {
        let mut world = world();
        let stream = context::stream(&mut world, handle)?;
        let stream = &world.streams[&stream];
        let mut found = stream.attributes.get(&id).copied().unwrap_or_default();
        if id == PRIORITY {
            found[0] = u64::from(stream.priority as u32);
        }
        value.put(found)
    })
}

pub extern "C" fn cuStreamSetAttribute(handle: Handle, id: u32, value: In<Value>) -> u32 {
    answer(|| {
        let value = value.get()?;
        let mut world = world();
        let stream = context::stream(&mut world, handle)?;
        world.streams.get_mut(&stream).ok_or(Fault::INVALID_HANDLE)?.attributes.insert(id, value);
        Ok(())
    })
}

pub extern "C" fn cuStreamCopyAttributes(to: Handle, from: Handle) -> u32 {
    answer(|| {
        let mut world = world();
        let (to, from) = (context::stream(&mut world, to)?, context::stream(&mut world, from)?);
        let all = world.streams[&from].attributes.clone();
        world.streams.get_mut(&to).ok_or(Fault::INVALID_HANDLE)?.attributes = all;
        Ok(())
    })
}
