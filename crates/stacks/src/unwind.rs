//! One step from a frame to its caller's: by the tables, or where there are none by the frame pointer.

use crate::memory::Raw;
use crate::rows::{Cfa, ENCODING, RBP, REGISTERS, RETURN, RSP, Row, Saved};
use gimli::{EndianSlice, EvaluationResult, Expression, LittleEndian, Location, Value};

/// Steps of one expression; a table's real ones have a few.
const STEPS: u32 = 1000;

/// The registers of a frame, as far as they are known, by the numbers that tables give them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State(pub [Option<u64>; REGISTERS]);

/// Why there is no next frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// This was the first function of the thread.
    Outermost,
    /// What is needed next was not copied.
    NotCopied,
    /// The tables make no sense with this stack.
    Broken,
}

impl State {
    /// Of the frame that made the call.
    pub fn new(r: &crate::Registers) -> State {
        let [rip, rsp, rbp, rbx, r12, r13, r14, r15] = r.map(Some);
        let mut all = [None; REGISTERS];
        for (n, value) in [(16, rip), (7, rsp), (6, rbp), (3, rbx), (12, r12), (13, r13), (14, r14), (15, r15)] {
            all[n] = value;
        }
        State(all)
    }

    /// Where it continues.
    pub fn address(&self) -> u64 {
        self.0[RETURN].unwrap_or(0)
    }

    /// Where its stack stands.
    pub fn stack(&self) -> u64 {
        self.0[RSP].unwrap_or(0)
    }

    /// The caller's registers, as the tables say.
    pub fn step(&self, row: &Row, memory: &Raw) -> Result<State, Stop> {
        let cfa = match &row.cfa {
            Cfa::Register(register, offset) => self.get(*register)?.wrapping_add_signed(*offset),
            Cfa::Expression(bytes) => self.evaluate(bytes, None, memory)?,
        };
        // A frame is above the one that it called; a signal may have come on another stack.
        if cfa <= self.stack() && !row.signal {
            return Err(Stop::Broken);
        }
        let mut next = self.clone();
        // What a function does not keep for its caller is lost, unless a signal's frame tells.
        for lost in [0, 1, 2, 4, 5, 8, 9, 10, 11, RETURN] {
            next.0[lost] = None;
        }
        next.0[RSP] = Some(cfa);
        for (register, how) in &row.saved {
            let at = |address: u64| read(memory, address);
            let value = match how {
                Saved::Lost if *register == RETURN => return Err(Stop::Outermost),
                Saved::Lost => None,
                Saved::At(offset) => match at(cfa.wrapping_add_signed(*offset)) {
                    // Only the return address is needed to continue at all.
                    Err(_) if *register != RETURN => None,
                    value => Some(value?),
                },
                Saved::Is(offset) => Some(cfa.wrapping_add_signed(*offset)),
                Saved::In(other) => self.0.get(*other).copied().flatten(),
                Saved::AtExpression(bytes) => Some(at(self.evaluate(bytes, Some(cfa), memory)?)?),
                Saved::IsExpression(bytes) => Some(self.evaluate(bytes, Some(cfa), memory)?),
            };
            if let Some(to) = next.0.get_mut(*register) {
                *to = value;
            }
        }
        match next.0[RETURN] {
            Some(0) => Err(Stop::Outermost),
            None => Err(Stop::Broken),
            Some(_) => Ok(next),
        }
    }

    /// The caller's registers, if rbp is a frame pointer: code without tables.
    pub fn step_by_rbp(&self, memory: &Raw) -> Result<State, Stop> {
        let rbp = self.0[RBP].filter(|rbp| *rbp >= self.stack() && rbp % 8 == 0).ok_or(Stop::Broken)?;
        let (outer, back) = (read(memory, rbp)?, read(memory, rbp.wrapping_add(8))?);
        if back == 0 {
            return Err(Stop::Outermost);
        }
        let mut next = State([None; REGISTERS]);
        (next.0[RBP], next.0[RETURN], next.0[RSP]) = (Some(outer), Some(back), Some(rbp.wrapping_add(16)));
        Ok(next)
    }

    fn get(&self, register: usize) -> Result<u64, Stop> {
        self.0.get(register).copied().flatten().ok_or(Stop::Broken)
    }

    fn evaluate(&self, bytes: &[u8], cfa: Option<u64>, memory: &Raw) -> Result<u64, Stop> {
        let broken = |_| Stop::Broken;
        let mut evaluation = Expression(EndianSlice::new(bytes, LittleEndian)).evaluation(ENCODING);
        evaluation.set_max_iterations(STEPS);
        cfa.iter().for_each(|cfa| evaluation.set_initial_value(*cfa));
        let mut result = evaluation.evaluate().map_err(broken)?;
        loop {
            result = match result {
                EvaluationResult::Complete => break,
                EvaluationResult::RequiresRegister { register, .. } => {
                    let value = self.get(usize::from(register.0))?;
                    evaluation.resume_with_register(Value::Generic(value)).map_err(broken)?
                }
                EvaluationResult::RequiresMemory { address, size, .. } => {
                    let value = memory.read(address, usize::from(size)).ok_or(Stop::NotCopied)?;
                    evaluation.resume_with_memory(Value::Generic(value)).map_err(broken)?
                }
                _ => return Err(Stop::Broken),
            };
        }
        match evaluation.result().first().map(|piece| piece.location) {
            Some(Location::Address { address }) => Ok(address),
            Some(Location::Value { value }) => value.to_u64(u64::MAX).map_err(broken),
            _ => Err(Stop::Broken),
        }
    }
}

fn read(memory: &Raw, address: u64) -> Result<u64, Stop> {
    memory.read(address, 8).ok_or(Stop::NotCopied)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(words: &[u64]) -> Raw {
        let mut raw = Raw::new([0x100, 0x1000, 0x1008, 3, 12, 13, 14, 15]);
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        raw.add(0x1000, &bytes);
        raw
    }

    #[test]
    fn a_frame_as_compilers_make_it() {
        let raw = stack(&[7, 0x2000, 0x200, 0]);
        let row = Row {
            cfa: Cfa::Register(RSP, 24),
            saved: vec![(RBP, Saved::At(-16)), (RETURN, Saved::At(-8))],
            signal: false,
        };
        let next = State::new(&raw.registers).step(&row, &raw).unwrap();
        assert_eq!((next.address(), next.stack(), next.0[RBP], next.0[3]), (0x200, 0x1018, Some(0x2000), Some(3)));
        let by_rbp = State::new(&raw.registers).step_by_rbp(&raw).unwrap();
        assert_eq!((by_rbp.address(), by_rbp.stack(), by_rbp.0[RBP]), (0x200, 0x1018, Some(0x2000)));
    }

    #[test]
    fn where_it_stops() {
        let raw = stack(&[7]);
        let state = State::new(&raw.registers);
        let row = |offset, saved| Row { cfa: Cfa::Register(RSP, offset), saved: vec![(RETURN, saved)], signal: false };
        assert_eq!(state.step(&row(16, Saved::At(-8)), &raw), Err(Stop::NotCopied));
        assert_eq!(state.step(&row(16, Saved::Lost), &raw), Err(Stop::Outermost));
        assert_eq!(state.step(&row(0, Saved::At(-8)), &raw), Err(Stop::Broken), "it would never end");
        assert_eq!(state.step(&row(16, Saved::In(0)), &raw), Err(Stop::Broken), "nobody knows rax");
        let expression = Row { cfa: Cfa::Expression([0xff].into()), saved: vec![], signal: false };
        assert_eq!(state.step(&expression, &raw), Err(Stop::Broken));
        // A loop without an end: DW_OP_skip to itself.
        let expression = Row { cfa: Cfa::Expression([0x2f, 0xfd, 0xff].into()), saved: vec![], signal: false };
        assert_eq!(state.step(&expression, &raw), Err(Stop::Broken));
    }

    #[test]
    fn an_expression() {
        let raw = stack(&[0, 0x4000]);
        // DW_OP_breg6 0, DW_OP_deref: what gcc says where it has aligned the stack.
        let row = Row { cfa: Cfa::Expression([0x76, 0, 6].into()), saved: vec![(RETURN, Saved::Is(5))], signal: false };
        let next = State::new(&raw.registers).step(&row, &raw).unwrap();
        assert_eq!((next.stack(), next.address()), (0x4000, 0x4005));
    }
}
