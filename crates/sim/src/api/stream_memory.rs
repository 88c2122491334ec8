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

/// A word of memory known to the driver.
#[derive(Clone, Copy)]
enum Word {
    Half(&'static AtomicU32),
    Whole(&'static AtomicU64),
}

fn check(address: u64, size: u64) -> Answer {
    let aligned = address.is_multiple_of(size);
    if aligned { allocation::require(&world(), address, size) } else { Err(Fault::INVALID_VALUE) }
}

impl Word {
    fn half(address: u64) -> Answer<Self> {
        check(address, 4)?;
        // SAFETY: aligned and in an allocation; a program that frees what a stream still uses breaks the rules.
        Ok(Word::Half(unsafe { AtomicU32::from_ptr(address as *mut u32) }))
    }

    fn whole(address: u64) -> Answer<Self> {
        check(address, 8)?;
        // SAFETY: as in `half`.
        Ok(Word::Whole(unsafe { AtomicU64::from_ptr(address as *mut u64) }))
    }

    fn store(self, value: u64) {
        match self {
            Word::Half(word) => word.store(value as u32, Ordering::SeqCst),
            Word::Whole(word) => word.store(value, Ordering::SeqCst),
        }
    }

    /// How to compare: 0 not less (with wrap), 1 equal, 2 and, 3 nor. Half words are compared in the upper half.
    fn holds(self, value: u64, how: u32) -> bool {
        let (now, value, ones) = match self {
            Word::Half(word) => (u64::from(word.load(Ordering::SeqCst)) << 32, value << 32, u64::MAX << 32),
            Word::Whole(word) => (word.load(Ordering::SeqCst), value, u64::MAX),
        };
        match how {
            0 => now.wrapping_sub(value) as i64 >= 0,
            1 => now == value,
            2 => now & value != 0,
            _ => !(now | value) & ones != 0,
        }
    }
}

fn write(stream: Handle, word: impl FnOnce() -> Answer<Word>, value: u64) -> u32 {
    answer(|| {
        let word = word()?;
        in_order(stream, move || word.store(value))
    })
}

fn wait(stream: Handle, word: impl FnOnce() -> Answer<Word>, value: u64, flags: u32) -> u32 {
    answer(|| {
        let word = word()?;
        let mut world = world();
        let stream = context::stream(&mut world, stream)?;
        engine::submit(world, stream, Work::Until(Box::new(move || word.holds(value, flags & 3))))
    })
}

pub extern "C" fn cuStreamWriteValue32_v2(stream: Handle, address: u64, value: u32, _flags: u32) -> u32 {
    write(stream, || Word::half(address), value.into())
}

pub extern "C" fn cuStreamWriteValue64_v2(stream: Handle, address: u64, value: u64, _flags: u32) -> u32 {
    write(stream, || Word::whole(address), value)
}

pub extern "C" fn cuStreamWaitValue32_v2(stream: Handle, address: u64, value: u32, flags: u32) -> u32 {
    wait(stream, || Word::half(address), value.into(), flags)
}

pub extern "C" fn cuStreamWaitValue64_v2(stream: Handle, address: u64, value: u64, flags: u32) -> u32 {
    wait(stream, || Word::whole(address), value, flags)
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
