//! What an object's unwind tables (.eh_frame) say of one address, made short enough to be kept.

use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, Encoding, EndianSlice, Expression, Format, LittleEndian, RegisterRule,
    UnwindContext, UnwindExpression, UnwindSection,
};

/// Registers that are followed: those that x86-64's tables can name, and the return address.
pub const REGISTERS: usize = 17;
/// Of them, those that the calling convention and this code care about.
pub const RSP: usize = 7;
/// See `RSP`.
pub const RBP: usize = 6;
/// See `RSP`.
pub const RETURN: usize = 16;

/// How expressions are read.
pub const ENCODING: Encoding = Encoding { address_size: 8, format: Format::Dwarf32, version: 4 };

/// Where a register of the caller is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Saved {
    /// Nowhere.
    Lost,
    /// So far from the frame's address in memory.
    At(i64),
    /// It is the frame's address and so much.
    Is(i64),
    /// In another register.
    In(usize),
    /// In memory where this expression leads.
    AtExpression(Box<[u8]>),
    /// What this expression gives.
    IsExpression(Box<[u8]>),
}

/// How the frame's address is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cfa {
    /// A register and so much.
    Register(usize, i64),
    /// What this expression gives.
    Expression(Box<[u8]>),
}

/// How to go from one frame to its caller's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The frame's address.
    pub cfa: Cfa,
    /// Registers that are not what they are.
    pub saved: Vec<(usize, Saved)>,
    /// The caller was interrupted by a signal: its address is where it continues, and not behind a call.
    pub signal: bool,
}

/// The tables of one file, with the addresses at which they stand in it.
#[derive(Debug, Default)]
pub struct Tables {
    /// .eh_frame
    pub frames: (u64, Vec<u8>),
    /// .eh_frame_hdr; empty if there is none.
    pub header: (u64, Vec<u8>),
    /// Address of .text, which some encodings are relative to.
    pub text: u64,
}

type Slice<'a> = EndianSlice<'a, LittleEndian>;

impl Tables {
    /// What they say of the code at an address of the file.
    pub fn row(&self, address: u64) -> Option<Row> {
        let bases =
            BaseAddresses::default().set_eh_frame(self.frames.0).set_eh_frame_hdr(self.header.0).set_text(self.text);
        let frames: EhFrame<Slice<'_>> = EhFrame::new(&self.frames.1, LittleEndian);
        let get = EhFrame::cie_from_offset;
        let header = EhFrameHdr::new(&self.header.1, LittleEndian).parse(&bases, 8).ok();
        let by_table = header
            .as_ref()
            .and_then(|h| h.table())
            .and_then(|table| table.fde_for_address(&frames, &bases, address, get).ok());
        let fde = match by_table {
            Some(fde) => fde,
            // A header without a table, or none.
            None if header.as_ref().is_none_or(|h| h.table().is_none()) => {
                frames.fde_for_address(&bases, address, get).ok()?
            }
            None => return None,
        };
        let mut context = UnwindContext::new();
        let row = fde.unwind_info_for_address(&frames, &bases, &mut context, address).ok()?;
        let expression = |e: &UnwindExpression<usize>| -> Option<Box<[u8]>> {
            let Expression(bytes) = e.get(&frames).ok()?;
            Some(bytes.slice().into())
        };
        let cfa = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => Cfa::Register(usize::from(register.0), *offset),
            CfaRule::Expression(e) => Cfa::Expression(expression(e)?),
        };
        let mut saved = Vec::new();
        for (register, rule) in row.registers() {
            let location = match rule {
                RegisterRule::Undefined => Saved::Lost,
                RegisterRule::Offset(n) => Saved::At(*n),
                RegisterRule::ValOffset(n) => Saved::Is(*n),
                RegisterRule::Register(r) => Saved::In(usize::from(r.0)),
                RegisterRule::Expression(e) => Saved::AtExpression(expression(e)?),
                RegisterRule::ValExpression(e) => Saved::IsExpression(expression(e)?),
                RegisterRule::SameValue => continue,
                _ => Saved::Lost,
            };
            if usize::from(register.0) < REGISTERS {
                saved.push((usize::from(register.0), location));
            }
        }
        Some(Row { cfa, saved, signal: fde.is_signal_trampoline() })
    }
}
