//! What the target keeps of a call, as steps: chosen from types and rules, so that a plain function pays
//! for its words only. Sizes are those of one version of the structs.

use super::budget;
use super::capture::{ALWAYS, COUNT64, ELSE, EXIT, MORE, NONE, RESULT, Step, WORDS, kind};
use super::functions::FunctionRow;
use super::known::{Count, Dir, Effect, Rule, Type, TypeId, Writes};
use super::tables::Member;
use super::tables::Tables;

/// Words of a block that are recorded.
pub(crate) const BLOCK_WORDS: u32 = 46;
/// Bytes of a text; of an array; of kernel parameters; of the largest struct.
const TEXT: u16 = 256;
const LOG: u16 = 512;
const ARRAY: u16 = 1024;
const KERNEL: u16 = 1024;
const STRUCT: u32 = 1632;
/// Bytes of an attribute that is a list.
const LIST: u16 = 64;
/// Elements of a list that ends with a zero.
const ZERO_ENDED: u16 = 32;
/// Structs within structs.
const DEEPEST: u32 = 3;
/// The target follows no more.
const MOST_STEPS: usize = 24;

/// In which form the words of a call lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Registers,
    Block,
}

/// Whose steps.
#[derive(Debug, Clone, Copy)]
pub(crate) struct At {
    pub(crate) version: u32,
    /// Of the driver, which alone can tell a kernel's parameters.
    pub(crate) driver: bool,
}

pub(crate) fn steps(tables: &Tables, row: &FunctionRow, form: Form, at: At) -> Vec<Step> {
    let status = matches!(tables.get(row.returns), Type::Status(_));
    let after = if status { EXIT } else { ALWAYS };
    let mut plan = Plan { tables, at, phase: 0, both: false, out: Vec::new() };
    let words = Siblings { members: &row.params, form: Some(form), base: WORDS, offset: 0 };
    for phase in [0, after] {
        for (n, param) in row.params.iter().enumerate() {
            let in_phase = match param.dir {
                Dir::In => phase == 0,
                Dir::Out => phase != 0,
                Dir::InOut => true,
            };
            if in_phase {
                plan.both = param.dir == Dir::InOut;
                plan.phase = match (phase, param.written) {
                    (EXIT, Writes::Always | Writes::Failed) => ALWAYS,
                    _ => phase,
                };
                plan.pointer(&words, n, 0);
            }
        }
    }
    plan.logs(&words, &row.effects);
    if let Type::Pointer(to, _) = tables.get(row.returns)
        && tables.get(to) == Type::Char
    {
        let flags = ALWAYS;
        plan.out.push(Step { flags, base: RESULT, most: TEXT, ..memory(0, 1) }.of(kind::TEXT));
    }
    // A struct that does not fit into two registers: the caller says where it goes, and gets that back.
    if let (Type::Struct(_), size @ 17..=STRUCT, Form::Registers) =
        (tables.get(row.returns), plan.size(row.returns), form)
    {
        plan.out.push(Step { flags: ALWAYS, base: RESULT, most: size as u16, ..memory(1, size as u16) });
    }
    if form == Form::Registers && plan.is_float(row.returns) {
        plan.out.push(Step { flags: ALWAYS, base: RESULT, most: 16, ..memory(1, 16) }.of(kind::FLOATS));
    }
    plan.out.truncate(MOST_STEPS);
    let words = match form {
        Form::Registers => u32::from(row.shape.ints) + u32::from(row.shape.vectors) + u32::from(row.shape.stack),
        Form::Block => row.block.unwrap_or(0).div_ceil(8).min(BLOCK_WORDS),
    };
    budget::fit(&mut plan.out, words);
    plan.out
}

/// Parameters, or the fields of a struct that a step kept.
#[derive(Clone, Copy)]
struct Siblings<'a> {
    members: &'a [Member],
    /// Parameters.
    form: Option<Form>,
    base: u8,
    /// Of the struct in the base.
    offset: u32,
}

impl Siblings<'_> {
    /// Where a member lies in the base.
    fn at(&self, n: usize) -> Option<u16> {
        let member = self.members.get(n)?;
        match self.form {
            Some(Form::Registers) => (member.word != 255).then_some(u16::from(member.word) * 8),
            _ => u16::try_from(self.offset + u32::from(member.offset)).ok(),
        }
    }
}

struct Plan<'a> {
    tables: &'a Tables<'a>,
    at: At,
    /// Flags of the steps: before or after the call.
    phase: u8,
    /// The parameter is looked at on both sides of the call.
    both: bool,
    out: Vec<Step>,
}

fn memory(count: u16, size: u16) -> Step {
    let (base, count_base, most) = (WORDS, NONE, 0);
    Step { kind: kind::MEMORY, flags: 0, base, count_base, offset: 0, count, size, most }
}

impl Plan<'_> {
    fn size(&self, ty: TypeId) -> u32 {
        self.tables.extent(ty, self.at.version).size
    }

    /// Whether a value is returned in vector registers: a float, or a few of them in a struct.
    fn is_float(&self, ty: TypeId) -> bool {
        match self.tables.get(ty) {
            Type::Float(_) => true,
            Type::Struct(first) if self.size(ty) <= 16 => {
                let row = &self.tables.structs[self.tables.row_at(first, self.at.version)];
                row.fields.iter().all(|field| matches!(self.tables.get(field.ty), Type::Float(_)))
            }
            _ => false,
        }
    }

    /// The steps of one pointer. Where its count may be missing (NULL), the most that there can be is kept.
    fn pointer(&mut self, siblings: &Siblings, n: usize, depth: u32) {
        let before = self.out.len();
        self.steps_of(siblings, n, depth);
        let most = match siblings.members[n].rule {
            Rule::Array(c)
            | Rule::Addresses(c, _)
            | Rule::Texts(c)
            | Rule::Tagged(_, _, c)
            | Rule::OptionValues(_, c) => c,
            _ => return,
        };
        let Count::Least(most, _) = most else { return };
        if let Some(last) = self.out.get(before..).and_then(|new| new.last().copied()) {
            let plain = Step { flags: (last.flags & !(COUNT64 | MORE)) | ELSE, ..last };
            let else_steps = self.counted(siblings, Count::Of(most), plain);
            self.out.extend(else_steps);
        }
    }

    fn steps_of(&mut self, siblings: &Siblings, n: usize, depth: u32) {
        let member = &siblings.members[n];
        let Some(offset) = siblings.at(n) else { return };
        let step = Step { flags: self.phase, base: siblings.base, offset, ..memory(1, 0) };
        // The driver's calls show those of a runtime too.
        if matches!(member.rule, Rule::Either(_)) && self.at.driver && self.phase == 0 {
            return self.out.push(step.of(kind::PRESENT));
        }
        let Type::Pointer(to, _) = self.tables.get(member.ty) else { return };
        match member.rule {
            Rule::Either(_) | Rule::Memory(_) | Rule::Host(_) | Rule::From(..) | Rule::To(..) | Rule::Opaque => {}
            Rule::One => self.one(to, step, depth),
            Rule::Text | Rule::TextOf(_) => self.out.push(Step { size: 1, most: TEXT, ..step }.of(kind::TEXT)),
            Rule::Array(count) | Rule::Addresses(count, _) => {
                let size = self.size(to).max(1);
                if let (Some(step), Ok(size)) = (self.counted(siblings, count, step), u16::try_from(size)) {
                    // Of a fixed number no more than they are.
                    let most = match step.count_base {
                        NONE => ARRAY.min(size.saturating_mul(step.count)),
                        _ => ARRAY,
                    };
                    self.out.push(Step { size, most, ..step });
                    self.launches(to, Step { size, ..step });
                }
            }
            Rule::Behind(count) => {
                let Type::Pointer(of, _) = self.tables.get(to) else { return };
                let size = self.size(of).max(1);
                self.out.push(Step { size: 8, most: 8, ..step });
                if self.tables.get(of) == Type::Void {
                    return;
                }
                let base = (self.out.len() - 1) as u8;
                let inner = Step { base, offset: 0, ..step };
                if let (Some(inner), Ok(size)) = (self.counted(siblings, count, inner), u16::try_from(size)) {
                    self.out.push(Step { size, most: ARRAY, ..inner });
                }
            }
            Rule::Texts(count) => {
                if let Some(step) = self.counted(siblings, count, step) {
                    self.out.push(Step { size: 8, most: ARRAY, ..step }.of(kind::TEXTS));
                }
            }
            Rule::Tagged(row, sibling, count) => {
                let rows = &self.tables.tags[usize::from(row)].rows;
                let size = rows.iter().map(|(_, ty)| self.size(*ty)).max().unwrap_or(8).min(STRUCT) as u16;
                if let Some(step) = self.counted(siblings, count, step) {
                    let (size, most) = match count {
                        Count::Fixed(1) => (size, size),
                        // Some are lists.
                        Count::Sized(..) => (1, size.max(LIST)),
                        _ => (size, ARRAY),
                    };
                    // Several tags: a pointer for each.
                    let by = siblings.members.get(usize::from(sibling)).map(|m| self.tables.get(m.ty));
                    let kind = if matches!(by, Some(Type::Pointer(..))) { kind::POINTERS } else { kind::MEMORY };
                    self.out.push(Step { size, most, ..step }.of(kind));
                }
            }
            Rule::OptionValues(_, count) => {
                if let Some(step) = self.counted(siblings, count, step) {
                    let step = Step { size: 8, most: TEXT, ..step };
                    // Logs are written above all by a call that fails.
                    self.out.push(match self.phase {
                        0 => step,
                        _ => Step { flags: step.flags & !EXIT | ALWAYS, ..step }.of(kind::TEXTS),
                    });
                }
            }
            // Of a number in the place of an address nothing is there, and nothing is kept.
            Rule::Scalar(row, _) | Rule::Word(row, _) => self.scalar(&[row], step),
            Rule::ScalarOr(row, _, or, _) => self.scalar(&[row, or], step),
            Rule::KernelParams(..) | Rule::Extra if !self.at.driver => {}
            Rule::KernelParams(sibling, or) => {
                let flags = [(sibling, 0), (or, ELSE)];
                for (sibling, other) in flags.into_iter().take(if sibling == or { 1 } else { 2 }) {
                    if let Some(count) = siblings.at(sibling.into()) {
                        let step = Step { count_base: siblings.base, count, most: KERNEL, ..step };
                        self.out.push(Step { flags: step.flags | other, ..step }.of(kind::KERNEL_PARAMS));
                    }
                }
            }
            Rule::Extra => self.out.push(Step { most: KERNEL / 2, ..step }.of(kind::EXTRA)),
        }
    }

    /// Where a new linker's logs are; what a call adds to them, above all one that fails.
    fn logs(&mut self, words: &Siblings, effects: &[Effect]) {
        let at = |n: u8| words.at(n.into());
        for effect in effects {
            match *effect {
                Effect::KeepsLogs { of, keys, .. } => {
                    let (Some(offset), Some(count)) = (at(of), at(keys)) else { continue };
                    let step = Step { flags: EXIT, offset, count_base: WORDS, ..memory(count, 1) };
                    self.out.push(step.of(kind::LOGS));
                }
                Effect::TellsLogs(of) => {
                    let Some(offset) = at(of) else { continue };
                    let log = |n| Step { flags: ALWAYS, offset, most: LOG, ..memory(n, 1) }.of(kind::LOG);
                    self.out.extend([log(0), log(1)]);
                }
                _ => {}
            }
        }
    }

    /// The kernels' parameters of launches that the elements of an array describe, which the last step kept.
    fn launches(&mut self, element: TypeId, step: Step) {
        let Type::Struct(first) = self.tables.get(element) else { return };
        let row = &self.tables.structs[self.tables.row_at(first, self.at.version)];
        let offsets = row.fields.iter().find_map(|field| match field.rule {
            Rule::KernelParams(function, _) => Some((field.offset, row.fields.get(usize::from(function))?.offset)),
            _ => None,
        });
        if let (Some((offset, count)), true) = (offsets, self.at.driver) {
            let base = (self.out.len() - 1) as u8;
            let step = Step { flags: self.phase, base, offset, count_base: base, count, most: KERNEL, ..step };
            self.out.push(step.of(kind::KERNELS));
        }
    }

    /// A number as long as the longest that these tags announce.
    fn scalar(&mut self, tags: &[u16], step: Step) {
        let rows = tags.iter().flat_map(|row| &self.tables.tags[usize::from(*row)].rows);
        let size = rows.map(|(_, ty)| self.size(*ty)).max().unwrap_or(8) as u16;
        self.out.push(Step { size, most: size, ..step });
    }

    /// One element, and what its own pointers lead to.
    fn one(&mut self, to: TypeId, step: Step, depth: u32) {
        let size = self.size(to).min(STRUCT);
        if size == 0 {
            return;
        }
        let sized_step = Step { size: size as u16, most: size as u16, ..step };
        // A count may have been read for an array before.
        let base = match self.out.iter().position(|s| *s == sized_step) {
            Some(at) => at as u8,
            None => {
                self.out.push(sized_step);
                (self.out.len() - 1) as u8
            }
        };
        if let Type::Struct(first) | Type::Union(first) = self.tables.get(to) {
            self.fields(first, base, 0, depth, matches!(self.tables.get(to), Type::Union(_)));
        }
    }

    fn fields(&mut self, first: u16, base: u8, offset: u32, depth: u32, union: bool) {
        if depth >= DEEPEST {
            return;
        }
        let row = &self.tables.structs[self.tables.row_at(first, self.at.version)];
        let siblings = Siblings { members: &row.fields, form: None, base, offset };
        for (n, field) in row.fields.iter().enumerate() {
            // What the call reads was kept before it, what it writes is kept after it.
            let opposite = if self.phase == 0 { Dir::Out } else { Dir::In };
            let launches = matches!(field.rule, Rule::KernelParams(..) | Rule::Extra);
            let pointer = matches!(self.tables.get(field.ty), Type::Pointer(..));
            if self.both && pointer && !launches && field.dir == opposite {
                continue;
            }
            match (self.tables.get(field.ty), field.rule) {
                // Which field of a union is meant is not known here; what a wrong one leads to is refused
                // when it is read, so only what a launch needs is tried.
                // So are arrays of which a person has said how long they are.
                (Type::Pointer(..), Rule::KernelParams(..) | Rule::Extra) => self.pointer(&siblings, n, depth + 1),
                (Type::Pointer(..), Rule::Array(_)) if field.is_specified => self.pointer(&siblings, n, depth + 1),
                (Type::Pointer(..), _) if !union => self.pointer(&siblings, n, depth + 1),
                (Type::Struct(inner), _) => {
                    self.fields(inner, base, offset + u32::from(field.offset), depth + 1, union)
                }
                (Type::Union(inner), _) => self.fields(inner, base, offset + u32::from(field.offset), depth + 1, true),
                _ => {}
            }
        }
    }

    /// The step with its count; none where it cannot be told.
    fn counted(&mut self, siblings: &Siblings, count: Count, step: Step) -> Option<Step> {
        match count {
            Count::Unknown | Count::Volume(..) | Count::FieldAt(..) => None,
            Count::Rows { .. } | Count::RowsBy { .. } | Count::Copied(_) | Count::Typed { .. } => None,
            Count::Plane(..) | Count::Tensor(..) => None,
            Count::Fixed(n) => Some(Step { count: u16::try_from(n).unwrap_or(u16::MAX), ..step }),
            Count::ZeroEnded => Some(Step { count: ZERO_ENDED, ..step }),
            // The larger part of a product is not known; elements are there at least as told by one of them. Of
            // what is too much nothing is shown.
            Count::Of(k)
            | Count::Product(k, _)
            | Count::Times(k, _)
            | Count::Less(k, _)
            | Count::Carried(k, _)
            | Count::Sized(k, _)
            | Count::OneMore(k) => {
                let k = usize::from(k);
                let wide = self.size(siblings.members[k].ty) == 8;
                let more = if matches!(count, Count::OneMore(_)) { MORE } else { 0 };
                let flags = step.flags | more | if wide { COUNT64 } else { 0 };
                Some(Step { count_base: siblings.base, count: siblings.at(k)?, flags, ..step })
            }
            Count::At(k) | Count::Least(_, k) | Count::AtTimes(k, _) => {
                let k = usize::from(k);
                let Type::Pointer(to, _) = self.tables.get(siblings.members[k].ty) else { return None };
                let size = self.size(to) as u16;
                let (base, offset) = (siblings.base, siblings.at(k)?);
                let read = Step { size, most: size, flags: self.phase, base, offset, ..step };
                let same = |s: &Step| *s == Step { count: 1, ..read };
                let at = self.out.iter().position(same).unwrap_or_else(|| {
                    self.out.push(Step { count: 1, ..read });
                    self.out.len() - 1
                });
                let flags = step.flags | if size == 8 { COUNT64 } else { 0 };
                Some(Step { count_base: at as u8, count: 0, flags, ..step })
            }
        }
    }
}

trait Kind {
    fn of(self, kind: u8) -> Self;
}

impl Kind for Step {
    fn of(self, kind: u8) -> Step {
        Step { kind, ..self }
    }
}
