//! Managed memory: advice and prefetches. They are stored for queries and have no other effect.

use crate::abi::{Answer, Fault, In, Out, answer};
use crate::driver::context;
use crate::driver::device::device;
use crate::state::{Advice, DriverState, Handle, Kind, driver_state};

/// The number of the host among devices.
const HOST: i32 = -1;
const NONE: i32 = -2;

/// The start of the managed allocation that contains a range.
fn managed(state: &DriverState, address: u64, size: usize) -> Answer<u64> {
    match state.memory.find(address) {
        Some((start, a)) if a.kind == Kind::Managed && size > 0 => {
            state.memory.require(address, size as u64).map(|()| start)
        }
        _ => Err(Fault::INVALID_VALUE),
    }
}

fn place(ordinal: i32) -> Answer<i32> {
    if ordinal == HOST { Ok(HOST) } else { device(ordinal) }
}

/// CUmemLocation in one register: kind (device, host, a NUMA node of the host), number.
fn location(location: u64) -> Answer<i32> {
    match location as u32 {
        1 => device((location >> 32) as i32),
        2..=4 => Ok(HOST),
        _ => Err(Fault::INVALID_VALUE),
    }
}

fn prefetch(address: u64, size: usize, to: impl FnOnce() -> Answer<i32>, stream: Handle) -> u32 {
    answer(|| {
        let mut state = driver_state();
        let start = managed(&state, address, size)?;
        let to = to()?;
        context::stream(&mut state, stream)?;
        state.memory.advice.entry(start).or_default().fetched = Some(to);
        Ok(())
    })
}

pub extern "C" fn cuMemPrefetchAsync(address: u64, size: usize, to: i32, stream: Handle) -> u32 {
    prefetch(address, size, || place(to), stream)
}

pub extern "C" fn cuMemPrefetchAsync_v2(address: u64, size: usize, to: u64, flags: u32, stream: Handle) -> u32 {
    prefetch(address, size, || if flags == 0 { location(to) } else { Err(Fault::INVALID_VALUE) }, stream)
}

/// CUmem_advise, set and unset: 1 and 2 read mostly, 3 and 4 preferred location, 5 and 6 accessed by.
fn advise(address: u64, size: usize, advice: u32, to: impl FnOnce() -> Answer<i32>) -> u32 {
    answer(|| {
        let mut state = driver_state();
        let start = managed(&state, address, size)?;
        let to = if matches!(advice, 3 | 5 | 6) { to()? } else { NONE };
        let wishes = state.memory.advice.entry(start).or_default();
        match advice {
            1 | 2 => wishes.read_mostly = advice == 1,
            3 => wishes.preferred = Some(to),
            4 => wishes.preferred = None,
            5 => drop(wishes.accessed.insert(to)),
            6 => drop(wishes.accessed.remove(&to)),
            _ => return Err(Fault::INVALID_VALUE),
        }
        Ok(())
    })
}

pub extern "C" fn cuMemAdvise(address: u64, size: usize, advice: u32, device: i32) -> u32 {
    advise(address, size, advice, || place(device))
}

pub extern "C" fn cuMemAdvise_v2(address: u64, size: usize, advice: u32, to: u64) -> u32 {
    advise(address, size, advice, || location(to))
}

/// Writes one attribute of a range, as words of 32 bits.
fn put(wishes: &Advice, value: u64, size: usize, id: u32) -> Answer {
    let out = Out::<i32>::at(value);
    let kind = |p: Option<i32>| p.map_or(0, |p| if p == HOST { 2 } else { 1 });
    let word = match id {
        1 => i32::from(wishes.read_mostly),
        2 => wishes.preferred.unwrap_or(NONE),
        3 if size.is_multiple_of(4) && size > 0 => {
            out.check_room(size / 4)?;
            let mut all = wishes.accessed.iter().copied();
            return (0..size / 4).try_for_each(|n| out.put_at(n, all.next().unwrap_or(NONE)));
        }
        4 => wishes.fetched.unwrap_or(NONE),
        5 => kind(wishes.preferred),
        6 => wishes.preferred.unwrap_or(0),
        7 => kind(wishes.fetched),
        8 => wishes.fetched.unwrap_or(0),
        _ => return Err(Fault::INVALID_VALUE),
    };
    if size == 4 { out.put(word) } else { Err(Fault::INVALID_VALUE) }
}

pub extern "C" fn cuMemRangeGetAttribute(value: u64, size: usize, id: u32, address: u64, bytes: usize) -> u32 {
    answer(|| {
        let state = driver_state();
        let start = managed(&state, address, bytes)?;
        put(&state.memory.advice.get(&start).cloned().unwrap_or_default(), value, size, id)
    })
}

pub extern "C" fn cuMemRangeGetAttributes(
    values: In<u64>,
    sizes: In<usize>,
    ids: In<u32>,
    count: usize,
    address: u64,
    bytes: usize,
) -> u32 {
    answer(|| {
        let state = driver_state();
        let start = managed(&state, address, bytes)?;
        let wishes = state.memory.advice.get(&start).cloned().unwrap_or_default();
        values.check_count(count).and(sizes.check_count(count)).and(ids.check_count(count))?;
        (0..count).try_for_each(|n| put(&wishes, values.get_at(n)?, sizes.get_at(n)?, ids.get_at(n)?))
    })
}

/// Several prefetches. An index for each range selects its location.
pub extern "C" fn cuMemPrefetchBatchAsync(
    addresses: In<u64>,
    sizes: In<usize>,
    count: usize,
    places: In<[u32; 2]>,
    firsts: In<usize>,
    place_count: usize,
    flags: u64,
    stream: Handle,
) -> u32 {
    answer(|| {
        if count == 0 || place_count == 0 || place_count > count || flags != 0 {
            return Err(Fault::INVALID_VALUE);
        }
        addresses.check_count(count).and(sizes.check_count(count)).and(places.check_count(place_count))?;
        firsts.check_count(place_count)?;
        let mut at = 0;
        for n in 0..count {
            if at + 1 < place_count && firsts.get_at(at + 1)? <= n {
                at += 1;
            }
            let [kind, id] = places.get_at(at)?;
            let to = || location(u64::from(kind) | u64::from(id) << 32);
            match prefetch(addresses.get_at(n)?, sizes.get_at(n)?, to, stream) {
                0 => {}
                code => return Err(Fault(code)),
            }
        }
        Ok(())
    })
}

/// Flags: 1 attaches to all, 2 to the host, 4 to this stream. The range is the whole allocation, with its
/// length or 0.
pub extern "C" fn cuStreamAttachMemAsync(handle: Handle, address: u64, size: usize, flags: u32) -> u32 {
    answer(|| {
        let mut state = driver_state();
        context::stream(&mut state, handle)?;
        let whole = match state.memory.find(address) {
            Some((start, a)) => a.kind == Kind::Managed && start == address && (size == 0 || size as u64 == a.size),
            None => false,
        };
        if whole && matches!(flags, 1 | 2 | 4) { Ok(()) } else { Err(Fault::INVALID_VALUE) }
    })
}
