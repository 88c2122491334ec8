//! Follows the requests to the kernel driver by which memory gets a place in this process and for a GPU, and by which
//! channels are made. Where fields stand is data (`cutap_calls::kernel::places`).

use super::memory::{self, Object, Piece};
use super::rings::{self, Channel};
use super::{is_on, lock};
use crate::capture::copy::checked;
use crate::capture::ioctl::Ioctl;
use crate::slots::table;
use crate::slots::thunks_x86_64::Frame;
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
    let goes = match table::name_of(frame.slot) {
        b"munmap" => true,
        b"mmap" | b"mmap64" => flags & FIXED != 0,
        _ => false,
    };
    if goes && is_on() {
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

/// A number of up to eight bytes in the program's memory.
fn number(at: usize, bytes: usize) -> Option<u64> {
    let mut word = 0u64;
    // SAFETY: the word here.
    (unsafe { checked(at, (&raw mut word).cast(), bytes) } == bytes).then_some(word)
}

/// The fields of a struct in the program's memory.
struct Fields<'a> {
    at: usize,
    places: &'a [u32; 5],
}

impl Fields<'_> {
    fn get(&self, n: usize, bytes: usize) -> Option<u64> {
        let place = *self.places.get(n)?;
        number(self.at.wrapping_add(place as usize), bytes).filter(|_| place != NO)
    }
    fn word(&self, n: usize) -> Option<u32> {
        Some(self.get(n, 4)? as u32)
    }
    fn object(&self, client: usize, handle: usize) -> Option<Object> {
        Some(Object { client: self.word(client)?, handle: self.word(handle)? })
    }
}

/// A request that returned.
fn request(ioctl: &Ioctl) -> Option<()> {
    let number_of = if ioctl.uvm { ioctl.request } else { ioctl.request & 0xff };
    let is = |t: Tracked| t != Tracked::Channel && (t == Tracked::MapExternal) == ioctl.uvm;
    let (what, places) = places(is, number_of, ioctl.size)?;
    let status = status_at(number_of, ioctl.size).map(|at| number(ioctl.argument.wrapping_add(at), 4));
    if !matches!(status, None | Some(Some(0))) {
        return None;
    }
    let of = Fields { at: ioctl.argument, places };
    match what {
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
            let (object, offset, bytes, fd) = (of.object(0, 1)?, of.get(2, 8)?, of.get(3, 8)?, of.word(4)?);
            // SAFETY: under the lock.
            lock::alone(|| unsafe { memory::prepared(fd as i32, object, offset, bytes) });
            Some(())
        }
        Tracked::MapDma => {
            seen(Piece { at: of.get(4, 8)?, bytes: of.get(3, 8)?, offset: of.get(2, 8)?, of: of.object(0, 1)? })
        }
        Tracked::MapExternal => {
            seen(Piece { at: of.get(0, 8)?, bytes: of.get(1, 8)?, offset: of.get(2, 8)?, of: of.object(3, 4)? })
        }
        Tracked::Channel => None,
    }
}

fn seen(piece: Piece) -> Option<()> {
    // SAFETY: under the lock.
    lock::alone(|| unsafe { memory::seen(piece) });
    Some(())
}

/// An object was made: a channel is kept.
fn channel(of: &Fields) -> Option<()> {
    let (object, class) = (of.object(0, 1)?, of.word(2)?);
    let (_, places) = places(|t| t == Tracked::Channel, class, 0)?;
    let params = Fields { at: of.get(3, 8)? as usize, places };
    let ring = (params.get(0, 8)?, params.word(1)?);
    let userd = Object { client: object.client, handle: params.word(2)? };
    let made = Channel::new(object, class, params.word(4).unwrap_or(0), ring, (userd, params.get(3, 8)?));
    lock::alone(|| rings::made(made));
    Some(())
}
