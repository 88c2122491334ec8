//! Several copies in one call, and copies with hints about location and access order. The hints have no effect: each
//! copy runs in the order of the stream.

use crate::abi::{Answer, Fault, In, Out, answer};
use crate::driver::{context, submit};
use crate::state::{Copy3D, Handle, Plane3D, Side, Task, driver_state};

/// CUmemcpyAttributes: order of access, two places, flags.
type Hints = [u32; 6];
/// CUmemcpySrcAccessOrder. 0 is invalid.
const ORDERS: std::ops::RangeInclusive<u32> = 1..=3;

fn put(stream: Handle, copy: Copy3D) -> Answer {
    let mut state = driver_state();
    let order = context::stream(&mut state, stream)?;
    submit::put(state, order, Task::Copy(Box::new(copy)), false)
}

fn line(to: u64, from: u64, size: usize, stream: Handle) -> Answer {
    put(stream, Copy3D::line(Plane3D::line(Side::Any, to), Plane3D::line(Side::Any, from), size as u64))
}

fn check(hints: In<Hints>) -> Answer {
    if ORDERS.contains(&hints.get()?[0]) { Ok(()) } else { Err(Fault::INVALID_VALUE) }
}

/// The stream must not be a default stream.
fn own(stream: Handle) -> Answer {
    if stream.0 < 2 { Err(Fault::INVALID_VALUE) } else { Ok(()) }
}

pub extern "C" fn cuMemcpyBatchAsync_v2(
    to: In<u64>,
    from: In<u64>,
    sizes: In<usize>,
    count: usize,
    hints: In<Hints>,
    _firsts: In<usize>,
    hint_count: usize,
    stream: Handle,
) -> u32 {
    answer(|| {
        own(stream)?;
        if count == 0 || hint_count == 0 || hint_count > count {
            return Err(Fault::INVALID_VALUE);
        }
        check(hints)?;
        to.check_count(count).and(from.check_count(count)).and(sizes.check_count(count))?;
        (0..count).try_for_each(|n| line(to.get_at(n)?, from.get_at(n)?, sizes.get_at(n)?, stream))
    })
}

/// The first form. After an error it reports SIZE_MAX as the index of the failed copy, which means all copies.
pub extern "C" fn cuMemcpyBatchAsync(
    to: In<u64>,
    from: In<u64>,
    sizes: In<usize>,
    count: usize,
    hints: In<Hints>,
    firsts: In<usize>,
    hint_count: usize,
    failed: Out<usize>,
    stream: Handle,
) -> u32 {
    let result = cuMemcpyBatchAsync_v2(to, from, sizes, count, hints, firsts, hint_count, stream);
    if result != 0 {
        failed.put_if_wanted(usize::MAX);
    }
    result
}

pub extern "C" fn cuMemcpyWithAttributesAsync(
    to: u64,
    from: u64,
    size: usize,
    hints: In<Hints>,
    stream: Handle,
) -> u32 {
    answer(|| check(hints).and_then(|()| line(to, from, size, stream)))
}

/// CUmemcpy3DOperand: an address with its pitch and its rows in a plane, or an array with an offset.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Operand {
    kind: u64,
    words: [u64; 4],
}

/// CUDA_MEMCPY3D_BATCH_OP
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Volume {
    from: Operand,
    to: Operand,
    sides: [u64; 3],
    order: u32,
    flags: u32,
}

impl Operand {
    fn plane(&self) -> Answer<Plane3D> {
        let [first, second, third, fourth] = self.words;
        match self.kind as u32 {
            1 => Ok(Plane3D::rows(first, second, third)),
            2 => Ok(Plane3D::in_array_at(Handle(first), [second, third, fourth])),
            _ => Err(Fault::INVALID_VALUE),
        }
    }
}

impl Volume {
    fn put(&self, stream: Handle) -> Answer {
        if !ORDERS.contains(&self.order) {
            return Err(Fault::INVALID_VALUE);
        }
        put(stream, Copy3D::new(self.to.plane()?, self.from.plane()?, self.sides))
    }
}

pub extern "C" fn cuMemcpy3DBatchAsync_v2(count: usize, list: In<Volume>, flags: u64, stream: Handle) -> u32 {
    answer(|| {
        own(stream)?;
        if count == 0 || flags != 0 {
            return Err(Fault::INVALID_VALUE);
        }
        list.check_count(count)?;
        (0..count).try_for_each(|n| list.get_at(n)?.put(stream))
    })
}

pub extern "C" fn cuMemcpy3DBatchAsync(
    count: usize,
    list: In<Volume>,
    failed: Out<usize>,
    flags: u64,
    stream: Handle,
) -> u32 {
    let result = cuMemcpy3DBatchAsync_v2(count, list, flags, stream);
    if result != 0 {
        failed.put_if_wanted(usize::MAX);
    }
    result
}

pub extern "C" fn cuMemcpy3DWithAttributesAsync(operation: In<Volume>, flags: u64, stream: Handle) -> u32 {
    answer(|| if flags == 0 { operation.get()?.put(stream) } else { Err(Fault::INVALID_VALUE) })
}
