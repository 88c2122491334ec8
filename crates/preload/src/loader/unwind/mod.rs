//! Reads an object's unwind tables (.eh_frame_hdr, .eh_frame) as far as a compiler's ordinary functions
//! need it: where the caller's frame begins and where the registers that a function keeps for its caller
//! are. Anything else is refused with a reason; nothing is guessed. Reads only inside the object.

mod rows;

use crate::sys::arch::dwarf;
use rows::Rows;

/// Why a frame's layout cannot be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// No tables, or none for this address.
    NoTables,
    /// The tables say something that is not understood here.
    Unusual,
}

/// Where a frame keeps what its caller wants back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// The frame pointer leads to the caller's frame; else the stack pointer does.
    pub by_frame_pointer: bool,
    /// So many bytes above that register it begins.
    pub cfa: u32,
    /// Each of `dwarf::CALLEE_SAVED`: so many words below its begin; 0: the register still has it.
    pub saved: [u8; 6],
}

impl Layout {
    /// In one word, never 0.
    pub fn pack(self) -> u64 {
        let saved = self.saved.iter().rev().fold(0u64, |w, &s| w << 8 | u64::from(s));
        saved << 16 | u64::from(self.cfa / 8) << 1 | u64::from(self.by_frame_pointer)
    }
    /// From that word.
    pub fn unpack(word: u64) -> Layout {
        let mut saved = [0; 6];
        for (n, s) in saved.iter_mut().enumerate() {
            *s = (word >> (16 + 8 * n)) as u8;
        }
        Layout { by_frame_pointer: word & 1 != 0, cfa: ((word >> 1 & 0x7fff) * 8) as u32, saved }
    }
}

/// The layout at a return address, in an object whose .eh_frame_hdr is at `header` and that spans `span`.
///
/// # Safety
/// The object is mapped and stays so; every byte of `span` that its tables lie in can be read.
pub unsafe fn layout(header: usize, span: (usize, usize), at: usize) -> Result<Layout, Why> {
    let reader_at = |from: usize| Reader { at: from, span };
    // The call is the instruction in front of the address that it returns to.
    let pc = at.wrapping_sub(1);
    let fde = reader_at(header).search(header, pc)?;
    let (cie, mut r) = reader_at(fde).fde(pc)?;
    let mut rows = Rows::new(&cie, pc);
    let (start, end) = cie.program;
    rows.run(&mut Reader { at: start, span }, end)?;
    rows.first = rows.now;
    rows.loc = cie.begin;
    let end = r.end;
    rows.run(&mut r.reader, end)?;
    rows.now.layout()
}

struct Reader {
    at: usize,
    span: (usize, usize),
}

/// What a CIE says, and where its function begins.
struct Cie {
    code: u64,
    data: i64,
    program: (usize, usize),
    begin: usize,
}

struct Program {
    reader: Reader,
    end: usize,
}

impl Reader {
    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], Why> {
        if self.at < self.span.0 || self.at.saturating_add(N) > self.span.1 {
            return Err(Why::NoTables);
        }
        // SAFETY: inside the object, by the caller's promise readable.
        let value = unsafe { (self.at as *const [u8; N]).read_unaligned() };
        self.at += N;
        Ok(value)
    }
    fn u8(&mut self) -> Result<u8, Why> {
        self.bytes::<1>().map(|[b]| b)
    }
    fn u32(&mut self) -> Result<u32, Why> {
        self.bytes().map(u32::from_le_bytes)
    }
    fn i32(&mut self) -> Result<i32, Why> {
        self.bytes().map(i32::from_le_bytes)
    }
    fn uleb(&mut self) -> Result<u64, Why> {
        let (mut value, mut shift) = (0u64, 0);
        loop {
            let byte = self.u8()?;
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            shift += 7;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
            if shift > 70 {
                return Err(Why::Unusual);
            }
        }
    }
    fn sleb(&mut self) -> Result<i64, Why> {
        let (mut value, mut shift) = (0i64, 0);
        loop {
            let byte = self.u8()?;
            value |= i64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            shift += 7;
            if byte & 0x80 == 0 {
                let negative = byte & 0x40 != 0 && shift < 64;
                return Ok(if negative { value | -1i64 << shift } else { value });
            }
            if shift > 70 {
                return Err(Why::Unusual);
            }
        }
    }
    /// A pointer relative to itself, or the size of one.
    fn pointer(&mut self, encoding: u8, relative: bool) -> Result<usize, Why> {
        let here = self.at;
        let value = match encoding & 0x0f {
            0x0b => self.i32()? as isize as usize,
            0x03 => self.u32()? as usize,
            0x0c | 0x04 => self.bytes().map(usize::from_le_bytes)?,
            _ => return Err(Why::Unusual),
        };
        match encoding & 0x70 {
            _ if !relative => Ok(value),
            0x10 => Ok(here.wrapping_add(value)),
            _ => Err(Why::Unusual),
        }
    }

    /// The FDE of an address, by the sorted table.
    fn search(&mut self, header: usize, pc: usize) -> Result<usize, Why> {
        let [version, frame, count, table] = self.bytes()?;
        if version != 1 || table != 0x3b {
            return Err(Why::Unusual);
        }
        self.pointer(frame, false)?;
        let count = self.pointer(count, false)?;
        let (table, span) = (self.at, self.span);
        let entry = |n: usize| -> Result<(usize, usize), Why> {
            let mut r = Reader { at: table + n * 8, span };
            let (begin, fde) = (r.i32()?, r.i32()?);
            Ok((header.wrapping_add_signed(begin as isize), header.wrapping_add_signed(fde as isize)))
        };
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low + (high - low) / 2;
            if entry(middle)?.0 <= pc {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(entry(low.checked_sub(1).ok_or(Why::NoTables)?)?.1)
    }

    fn fde(mut self, pc: usize) -> Result<(Cie, Program), Why> {
        let length = self.u32()?;
        if length == 0 || length >= 0xffff_fff0 {
            return Err(Why::Unusual);
        }
        let end = self.at + length as usize;
        let place = self.at;
        let back = self.u32()? as usize;
        let cie = Reader { at: place.wrapping_sub(back), span: self.span };
        let (mut cie, encoding, sized) = cie.cie()?;
        cie.begin = self.pointer(encoding, true)?;
        let range = self.pointer(encoding, false)?;
        if pc.wrapping_sub(cie.begin) >= range {
            return Err(Why::NoTables);
        }
        if sized {
            let more = self.uleb()?;
            self.at = self.at.wrapping_add(more as usize);
        }
        Ok((cie, Program { reader: self, end }))
    }

    /// What it says, how its FDEs encode addresses, and whether they have data of their own.
    fn cie(mut self) -> Result<(Cie, u8, bool), Why> {
        let length = self.u32()?;
        if length == 0 || length >= 0xffff_fff0 {
            return Err(Why::Unusual);
        }
        let end = self.at + length as usize;
        if self.u32()? != 0 || !matches!(self.u8()?, 1 | 3) {
            return Err(Why::Unusual);
        }
        let mut letters = [0u8; 8];
        let mut count = 0;
        loop {
            match self.u8()? {
                0 => break,
                letter => *letters.get_mut(count).ok_or(Why::Unusual)? = letter,
            }
            count += 1;
        }
        let (code, data) = (self.uleb()?, self.sleb()?);
        if self.u8()? as usize != dwarf::RETURN_ADDRESS {
            return Err(Why::Unusual);
        }
        let (mut encoding, mut sized) = (0u8, false);
        for letter in letters.iter().take(count) {
            match letter {
                b'z' => {
                    sized = true;
                    self.uleb()?;
                }
                b'R' => encoding = self.u8()?,
                b'L' => drop(self.u8()?),
                b'P' => {
                    let pointer_encoding = self.u8()?;
                    self.pointer(pointer_encoding, false)?;
                }
                _ => return Err(Why::Unusual),
            }
        }
        Ok((Cie { code, data, program: (self.at, end), begin: 0 }, encoding, sized))
    }
}
