//! The rows of a function's unwind table: the program of a CIE and an FDE, run up to an address.

use super::{Cie, Layout, Reader, Why};
use crate::sys::arch::dwarf;

/// How a register of the caller is found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// It was not touched.
    Same,
    /// At this distance from the begin of the caller's frame.
    At(i64),
    /// In another way.
    Other,
}

#[derive(Clone, Copy)]
pub(super) struct State {
    register: u64,
    offset: i64,
    expression: bool,
    rules: [Rule; 17],
}

impl State {
    pub(super) const START: State = State { register: 0, offset: 0, expression: true, rules: [Rule::Same; 17] };

    fn rule(&mut self, register: u64, rule: Rule) {
        if let Some(place) = self.rules.get_mut(register as usize) {
            *place = rule;
        }
    }
    pub(super) fn layout(&self) -> Result<Layout, Why> {
        let is_register_based =
            !self.expression && matches!(self.register, dwarf::STACK_POINTER | dwarf::FRAME_POINTER);
        let fits = (8..0x3_0000).contains(&self.offset) && self.offset % 8 == 0;
        if !is_register_based || !fits || self.rules.get(dwarf::RETURN_ADDRESS) != Some(&Rule::At(-8)) {
            return Err(Why::Unusual);
        }
        let mut saved = [0u8; 6];
        for (to, register) in saved.iter_mut().zip(dwarf::CALLEE_SAVED) {
            *to = match self.rules.get(register as usize) {
                Some(Rule::Same) => 0,
                Some(&Rule::At(at)) if at % 8 == 0 => u8::try_from(-at / 8).map_err(|_| Why::Unusual)?,
                _ => return Err(Why::Unusual),
            };
        }
        Ok(Layout { by_frame_pointer: self.register == dwarf::FRAME_POINTER, cfa: self.offset as u32, saved })
    }
}

/// The rows of a function's table, run up to an address.
pub(super) struct Rows<'a> {
    pub(super) loc: usize,
    pc: usize,
    cie: &'a Cie,
    pub(super) now: State,
    /// As the CIE leaves it.
    pub(super) first: State,
    remembered_states: [State; 8],
    depth: usize,
}

impl<'a> Rows<'a> {
    /// The rows of a function, up to the one of an address.
    pub(super) fn new(cie: &'a Cie, pc: usize) -> Rows<'a> {
        let remembered_states = [State::START; 8];
        Rows { loc: cie.begin, pc, cie, now: State::START, first: State::START, remembered_states, depth: 0 }
    }

    pub(super) fn run(&mut self, r: &mut Reader, end: usize) -> Result<(), Why> {
        while r.at < end {
            let op = r.u8()?;
            let low = u64::from(op & 0x3f);
            let step = match (op >> 6, op) {
                (1, _) => Some(low),
                (2, _) => {
                    let at = r.uleb()? as i64 * self.cie.data;
                    self.now.rule(low, Rule::At(at));
                    None
                }
                (3, _) => {
                    self.restore(low);
                    None
                }
                (_, 0x02) => Some(u64::from(r.u8()?)),
                (_, 0x03) => Some(u64::from(u16::from_le_bytes(r.bytes()?))),
                (_, 0x04) => Some(u64::from(r.u32()?)),
                (_, other) => {
                    self.extended(other, r)?;
                    None
                }
            };
            if let Some(step) = step {
                self.loc = self.loc.wrapping_add((step * self.cie.code) as usize);
                if self.loc > self.pc {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn restore(&mut self, register: u64) {
        let rule = self.first.rules.get(register as usize).copied().unwrap_or(Rule::Same);
        self.now.rule(register, rule);
    }

    fn extended(&mut self, op: u8, r: &mut Reader) -> Result<(), Why> {
        match op {
            0x00 => {}
            // offset_extended, restore_extended, undefined, same_value, register
            0x05 => {
                let (register, at) = (r.uleb()?, r.uleb()? as i64 * self.cie.data);
                self.now.rule(register, Rule::At(at));
            }
            0x06 => {
                let register = r.uleb()?;
                self.restore(register);
            }
            0x07 => {
                let register = r.uleb()?;
                self.now.rule(register, Rule::Other);
            }
            0x08 => {
                let register = r.uleb()?;
                self.now.rule(register, Rule::Same);
            }
            0x09 => {
                let (register, _) = (r.uleb()?, r.uleb()?);
                self.now.rule(register, Rule::Other);
            }
            // remember_state, restore_state
            0x0a => {
                *self.remembered_states.get_mut(self.depth).ok_or(Why::Unusual)? = self.now;
                self.depth += 1;
            }
            0x0b => {
                self.depth = self.depth.checked_sub(1).ok_or(Why::Unusual)?;
                self.now = *self.remembered_states.get(self.depth).ok_or(Why::Unusual)?;
            }
            // def_cfa, def_cfa_register, def_cfa_offset, def_cfa_expression
            0x0c => (self.now.register, self.now.offset, self.now.expression) = (r.uleb()?, r.uleb()? as i64, false),
            0x0d => self.now.register = r.uleb()?,
            0x0e => self.now.offset = r.uleb()? as i64,
            0x0f => {
                self.now.expression = true;
                let length = r.uleb()?;
                r.at = r.at.wrapping_add(length as usize);
            }
            // expression, val_expression
            0x10 | 0x16 => {
                let (register, length) = (r.uleb()?, r.uleb()?);
                r.at = r.at.wrapping_add(length as usize);
                self.now.rule(register, Rule::Other);
            }
            // offset_extended_sf, def_cfa_sf, def_cfa_offset_sf
            0x11 => {
                let (register, at) = (r.uleb()?, r.sleb()? * self.cie.data);
                self.now.rule(register, Rule::At(at));
            }
            0x12 => {
                let (register, at) = (r.uleb()?, r.sleb()? * self.cie.data);
                (self.now.register, self.now.offset, self.now.expression) = (register, at, false);
            }
            0x13 => self.now.offset = r.sleb()? * self.cie.data,
            // GNU_args_size
            0x2e => drop(r.uleb()?),
            _ => return Err(Why::Unusual),
        }
        Ok(())
    }
}
