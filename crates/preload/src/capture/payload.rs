//! What stands behind the call's own words in a record, while it is put together: the result, fragments. It lives on
//! the stack and is copied into the ring when it is whole.

use crate::process::copy::Pages;
use core::mem::MaybeUninit;
use cutap_calls::capture::{RESULT, WORDS};
use cutap_wire::record::FRAGMENT_WORDS;

/// Words of a record, with the call's own.
const ROOM: usize = 224;
/// Steps of a function at most; what lies behind is not kept.
pub const STEPS_MAX: usize = 24;
const _: () = assert!(STEPS_MAX <= 32);

/// A call's words, where they stand: registers, and stack.
pub type ArgumentWords<'a> = [&'a [u64]; 2];

/// A call as the steps see it.
pub struct Call<'a> {
    pub words: ArgumentWords<'a>,
    /// The result register, after the call.
    pub result: u64,
    /// The low eight bytes of the first two vector registers, after the call.
    pub floats: [u64; 2],
    /// Address of a driver's function, to find the driver by; 0 for functions of other layers.
    pub driver: usize,
}

impl Call<'_> {
    #[inline(always)]
    fn word(&self, n: usize) -> Option<u64> {
        let [first, rest] = self.words;
        first.get(n).or_else(|| rest.get(n.wrapping_sub(first.len()))).copied()
    }
}

/// The words of a record being put together.
pub struct Payload {
    words: [MaybeUninit<u64>; ROOM],
    used: usize,
    /// How many there may be.
    end: usize,
    /// Where the fragment of each step lies, in bytes, and how long it is; and which steps have one.
    fragments: [MaybeUninit<(u16, u16)>; STEPS_MAX],
    present: u32,
    /// What may be read directly.
    pub pages: Pages,
}

impl Payload {
    /// Empty; the record has so many words already. Nothing large is filled here: it would be as dear as the rest of a
    /// call.
    #[inline(always)]
    pub fn new(pages: Pages, before: usize) -> Payload {
        let (words, fragments) = ([MaybeUninit::uninit(); ROOM], [MaybeUninit::uninit(); STEPS_MAX]);
        Payload { words, used: 0, end: ROOM - before.min(ROOM), fragments, present: 0, pages }
    }
    pub fn set_fragment(&mut self, step: usize, place: (u16, u16)) {
        if let Some(to) = self.fragments.get_mut(step) {
            to.write(place);
            self.present |= 1 << step;
        }
    }
    fn fragment(&self, step: u8) -> Option<(u16, u16)> {
        let place = self.fragments.get(usize::from(step))?;
        // SAFETY: the bit says that it was written.
        (self.present >> step & 1 != 0).then(|| unsafe { place.assume_init() })
    }
    /// One more word; beyond the room it is left out.
    pub fn push(&mut self, word: u64) {
        if self.used < self.end
            && let Some(to) = self.words.get_mut(self.used)
        {
            to.write(word);
            self.used += 1;
        }
    }
    /// The words so far.
    pub fn words(&self) -> &[u64] {
        // SAFETY: `used` words were written, and `used` never passes the array's end.
        unsafe { core::slice::from_raw_parts(self.words.as_ptr().cast(), self.used) }
    }
    /// The word that begins at a byte offset.
    pub fn word(&self, offset: usize) -> Option<usize> {
        self.words().get(offset / 8).map(|&w| w as usize)
    }
    /// Bytes that a fragment may still have.
    pub fn room(&self) -> usize {
        (self.end - self.used).saturating_sub(FRAGMENT_WORDS) * 8
    }
    /// Where the next fragment's bytes begin.
    pub fn place(&mut self) -> *mut u8 {
        self.words.as_mut_ptr().wrapping_add(self.used + FRAGMENT_WORDS).cast()
    }
    /// A fragment whose `kept` bytes already stand at [`Payload::place`].
    pub fn close(&mut self, address: usize, kept: usize, meant: usize) -> (u16, u16) {
        let start = self.used + FRAGMENT_WORDS;
        let words = kept.div_ceil(8);
        // The last word's unused bytes must not be what lay on the stack.
        if !kept.is_multiple_of(8)
            && let Some(last) = self.words.get_mut(start + words - 1)
        {
            let mask = (1u64 << (kept % 8 * 8)) - 1;
            // SAFETY: some of its bytes were written, and any bytes are a word.
            unsafe { last.as_mut_ptr().write(last.as_ptr().read() & mask) };
        }
        self.push(address as u64);
        self.push(kept as u64 | (meant.min(u32::MAX as usize) as u64) << 32);
        self.used = start + words;
        (start as u16 * 8, kept as u16)
    }
    /// A fragment of `meant` bytes of the program's memory, of which at most so many are kept.
    pub fn memory(&mut self, at: usize, meant: usize, most: usize) -> Option<(u16, u16)> {
        let len = meant.min(most);
        if len == 0 {
            return None;
        }
        let to = self.place();
        // SAFETY: `len` bytes of room.
        let got = unsafe { self.pages.copy(at, to, len) };
        (got > 0).then(|| self.close(at, got, meant))
    }
    /// Bytes of a fragment, or of the call's words.
    #[inline(always)]
    pub fn read(&self, base: u8, offset: usize, len: usize, call: &Call) -> Option<u64> {
        let (start, length) = match base {
            WORDS => {
                let word = call.word(offset / 8)?;
                return Some(word >> (offset % 8 * 8) & if len == 4 { u64::from(u32::MAX) } else { u64::MAX });
            }
            RESULT => return Some(call.result),
            step => self.fragment(step)?,
        };
        if offset + len > usize::from(length) {
            return None;
        }
        let at = self.words.as_ptr().cast::<u8>().wrapping_add(usize::from(start) + offset);
        // SAFETY: inside a fragment, which is written.
        unsafe {
            Some(if len == 4 {
                u64::from(at.cast::<u32>().read_unaligned())
            } else {
                at.cast::<u64>().read_unaligned()
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::stack::Stack;

    #[test]
    fn a_fragment_is_address_lengths_bytes() {
        let mut kept = Payload::new(Pages::new(0, &mut Stack::none()), 0);
        kept.push(7);
        let to = kept.place();
        // SAFETY: five bytes of room.
        unsafe { core::ptr::copy_nonoverlapping(b"hello".as_ptr(), to, 5) };
        let (start, length) = kept.close(0x1000, 5, 9);
        assert_eq!((start, length), (24, 5));
        let text = u64::from_le_bytes(*b"hello\0\0\0");
        assert_eq!(kept.words(), [7, 0x1000, 5 | 9 << 32, text]);
    }

    #[test]
    fn the_room_ends() {
        let mut kept = Payload::new(Pages::new(0, &mut Stack::none()), 10);
        for n in 0..ROOM as u64 + 10 {
            kept.push(n);
        }
        assert_eq!((kept.words().len(), kept.room()), (ROOM - 10, 0));
    }

    #[test]
    fn words_and_fragments_are_read_inside_their_bounds() {
        let mut kept = Payload::new(Pages::new(0, &mut Stack::none()), 0);
        let call = Call { words: [&[0x1_0000_0002], &[3]], result: 9, floats: [0; 2], driver: 0 };
        let read = |kept: &Payload, base, offset, len| kept.read(base, offset, len, &call);
        assert_eq!(read(&kept, WORDS, 0, 4), Some(2));
        assert_eq!(read(&kept, WORDS, 4, 4), Some(1));
        assert_eq!(read(&kept, WORDS, 8, 8), Some(3));
        assert_eq!(read(&kept, WORDS, 16, 8), None);
        assert_eq!(read(&kept, RESULT, 0, 8), Some(9));
        assert_eq!(read(&kept, 0, 0, 8), None);
        // SAFETY: four bytes of room.
        unsafe { kept.place().cast::<u32>().write(5) };
        let place = kept.close(0x1000, 4, 4);
        kept.set_fragment(0, place);
        assert_eq!((read(&kept, 0, 0, 4), read(&kept, 0, 0, 8), read(&kept, 0, 1, 4)), (Some(5), None, None));
    }
}
