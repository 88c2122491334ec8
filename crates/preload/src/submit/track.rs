//! Follows the requests to the kernel driver by which memory gets a place in this process and for a GPU, and by which
//! channels are made. Where fields stand is data (`cutap_calls::kernel::places`).

use super::memory::{self, Object, Piece};
use super::rings::{self, Channel};
use super::{is_on, lock};
use crate::process::copy::checked;
use crate::slots::frame::Frame;
use crate::slots::request::Ioctl;
use crate::slots::table;
use cutap_calls::kernel::{NO, Tracked, places, status_at};

/// mmap replaces what is there.
const FIXED: u64 = 0x10;

/// Whether a function of libc is followed.
pub fn is_followed(name: &[u8]) -> bool {
    matches!(name, b"ioctl" | b"mmap" | b"mmap64" | b"munmap")
}

/// On the way in: what goes away is forgotten before it does.
pub fn before(frame: &Frame) {
    let [at, bytes, _, flags, ..] = frame.args;
    let unmaps = match table::name_of(frame.slot) {
        b"munmap" => true,
        b"mmap" | b"mmap64" => flags & FIXED != 0,
        _ => false,
    };
    if unmaps && is_on() {
        lock::alone(|| {
            // SAFETY: under the lock.
            if unsafe { memory::unmapped(at as usize, bytes as usize) } {
                rings::unmapped();
            }
        });
    }
}

/// On the way out. `ioctl`: the request, of one.
pub fn after(frame: &Frame, ioctl: Option<&Ioctl>) {
    if !is_on() {
        return;
    }
    let [result, _] = frame.result;
    if let Some(ioctl) = ioctl {
        if result as u32 == 0 {
            request(ioctl);
        }
        return;
    }
    let [_, bytes, _, _, fd, _] = frame.args;
    let maps = matches!(table::name_of(frame.slot), b"mmap" | b"mmap64");
    if maps && result as i64 > 0 && fd as i32 >= 0 {
        // SAFETY: under the lock.
        lock::alone(|| unsafe { memory::mapped(fd as i32, result as usize, bytes as usize) });
    }
}

/// Fields of most structs are within so many bytes. `MapExternal` has an array of 9216 bytes between its fields.
const HEAD: usize = 144;
const TAIL: usize = 16;

/// A part of a struct in the program's memory, read by one system call.
struct Part<const N: usize> {
    from: usize,
    bytes: [u8; N],
    read: usize,
}

impl<const N: usize> Part<N> {
    /// Of the struct at `at` the bytes `from..to`, at most `N`.
    fn read(at: usize, from: usize, to: usize) -> Self {
        let mut bytes = [0; N];
        let len = to.saturating_sub(from).min(N);
        // SAFETY: the bytes are so many.
        let read = unsafe { checked(at.wrapping_add(from), bytes.as_mut_ptr(), len) };
        Self { from, bytes, read }
    }

    /// A number of up to eight bytes.
    fn number(&self, place: usize, len: usize) -> Option<u64> {
        let at = place.checked_sub(self.from)?;
        let end = at.checked_add(len).filter(|end| *end <= self.read)?;
        Some(self.bytes.get(at..end)?.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte)))
    }
}

/// The fields of a struct in the program's memory.
struct Fields<'a> {
    places: &'a [u32; 5],
    head: Part<HEAD>,
    tail: Part<TAIL>,
}

impl<'a> Fields<'a> {
    /// `status`: where the struct has its status.
    fn of(at: usize, places: &'a [u32; 5], status: Option<usize>) -> Self {
        let (mut head, mut from, mut to) = (0, usize::MAX, 0);
        for place in places.iter().filter(|place| **place != NO).map(|place| *place as usize).chain(status) {
            if place + 8 <= HEAD {
                head = head.max(place + 8);
            } else {
                (from, to) = (from.min(place), to.max(place + 8));
            }
        }
        Self { places, head: Part::read(at, 0, head), tail: Part::read(at, from, to) }
    }
    fn number(&self, place: usize, len: usize) -> Option<u64> {
        self.head.number(place, len).or_else(|| self.tail.number(place, len))
    }
    fn field(&self, n: usize, bytes: usize) -> Option<u64> {
        let place = *self.places.get(n)?;
        self.number(place as usize, bytes).filter(|_| place != NO)
    }
    fn word(&self, n: usize) -> Option<u32> {
        Some(self.field(n, 4)? as u32)
    }
    fn object(&self, client: usize, handle: usize) -> Option<Object> {
        Some(Object { client: self.word(client)?, handle: self.word(handle)? })
    }
}

/// A request that returned.
fn request(ioctl: &Ioctl) -> Option<()> {
    let number_of = if ioctl.uvm { ioctl.request } else { ioctl.request & 0xff };
    let is = |t: Tracked| t != Tracked::Channel && (t == Tracked::MapExternal) == ioctl.uvm;
    let (tracked, places) = places(is, number_of, ioctl.size)?;
    let status = status_at(number_of, ioctl.size);
    let of = Fields::of(ioctl.argument, places, status);
    if !matches!(status.map(|at| of.number(at, 4)), None | Some(Some(0))) {
        return None;
    }
    match tracked {
        Tracked::Alloc => channel(&of),
        Tracked::Free => {
            let object = of.object(0, 1)?;
            lock::alone(|| {
                rings::freed(object);
                // SAFETY: under the lock.
                unsafe { memory::freed(object) };
            });
            Some(())
        }
        Tracked::MapMemory => {
            let (object, offset, bytes, fd) = (of.object(0, 1)?, of.field(2, 8)?, of.field(3, 8)?, of.word(4)?);
            // SAFETY: under the lock.
            lock::alone(|| unsafe { memory::prepared(fd as i32, object, offset, bytes) });
            Some(())
        }
        Tracked::MapDma => add_gpu_mapping(Piece {
            at: of.field(4, 8)?,
            bytes: of.field(3, 8)?,
            offset: of.field(2, 8)?,
            of: of.object(0, 1)?,
        }),
        Tracked::MapExternal => add_gpu_mapping(Piece {
            at: of.field(0, 8)?,
            bytes: of.field(1, 8)?,
            offset: of.field(2, 8)?,
            of: of.object(3, 4)?,
        }),
        Tracked::Channel => None,
    }
}

fn add_gpu_mapping(piece: Piece) -> Option<()> {
    // SAFETY: under the lock.
    lock::alone(|| unsafe { memory::add_gpu_mapping(piece) });
    Some(())
}

/// An object was made: a channel is kept.
fn channel(of: &Fields) -> Option<()> {
    let (object, class) = (of.object(0, 1)?, of.word(2)?);
    let (_, places) = places(|t| t == Tracked::Channel, class, 0)?;
    let params = Fields::of(of.field(3, 8)? as usize, places, None);
    let ring = (params.field(0, 8)?, params.word(1)?);
    let userd = Object { client: object.client, handle: params.word(2)? };
    let new_channel = Channel::new(object, class, params.word(4).unwrap_or(0), ring, (userd, params.field(3, 8)?));
    lock::alone(|| rings::add_channel(new_channel));
    Some(())
}
