//! Walks from the words of a call over types and pointers to values. It reads memory only through [`Memory`], follows
//! pointers no deeper than [`DEPTH`], and makes at most [`VALUES`] values for a call.

use super::memory::Memory;
use super::parameter_types::ParametersByKernel;
use super::row::Row;
use crate::decode::state::allocations::Fallback;
use crate::decode::state::effect_origin::EffectOrigin;
use crate::decode::state::process_state::ProcessState;
use crate::event::value::{Items, Owner, Standing, Value};
use crate::kernels::names::Kernels;
use cutap_calls::capture::can_be;
use cutap_calls::known::{self, Count, Dir, Param, Rule, Tables, Type, TypeId, Unit};
use std::sync::Arc;

/// Pointers, structs, fields and arrays inside each other.
pub const DEPTH: u32 = 16;
/// Values of a call.
pub const VALUES: u32 = 600;
/// Elements of an array that are kept.
pub const ELEMENTS: usize = 64;

/// Which side of a call is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// What was there before it.
    Before,
    /// What it left.
    After,
}

/// One walk over one call's values.
#[derive(Debug)]
pub struct Walk<'a> {
    pub tables: &'static Tables,
    /// Which layout of a struct is meant.
    pub version: u32,
    pub memory: Memory<'a>,
    /// After a call: the memory before it, for what tells how outputs are to be read.
    pub before: Memory<'a>,
    pub side: Side,
    /// Handles and allocations of the process; none: addresses stay addresses.
    pub state: Option<&'a mut ProcessState>,
    /// What the driver says of kernels' parameters.
    pub kernels: Option<&'a Kernels>,
    /// What was looked up for other calls; none: it is looked up for this one alone.
    pub parameters_by_kernel: Option<&'a mut ParametersByKernel>,
    /// When that was, in ticks: a handle may be another kernel's later.
    pub ticks: u64,
    /// Name of the kernel that is launched.
    pub kernel: Option<&'a Arc<str>>,
    /// The call, at its end.
    pub origin: Option<EffectOrigin<'a>>,
    /// Addresses are those of memory that the call has made: there is nothing else to say of them.
    pub new_memory: bool,
    /// The same for one address; 0: none.
    pub new_address: u64,
    /// How many bytes the address in this struct means, and what it is where no call allocated it.
    enclosing_rule: Option<(Option<u64>, Fallback)>,
    value_budget: u32,
    depth: u32,
}

impl<'a> Walk<'a> {
    pub fn new(tables: &'static Tables, version: u32, memory: Memory<'a>, side: Side) -> Walk<'a> {
        Walk {
            tables,
            version,
            memory,
            before: memory,
            side,
            state: None,
            kernels: None,
            parameters_by_kernel: None,
            ticks: u64::MAX,
            kernel: None,
            origin: None,
            new_memory: false,
            new_address: 0,
            enclosing_rule: None,
            value_budget: VALUES,
            depth: 0,
        }
    }

    pub fn ty(&self, id: TypeId) -> Type {
        self.tables.types.get(usize::from(id)).copied().unwrap_or(Type::Void)
    }

    /// A piece of memory, of this side or of the one before the call.
    pub fn either(&self, address: u64) -> Option<cutap_wire::record::Fragment<'a>> {
        self.memory.at(address).or_else(|| self.before.at(address))
    }

    /// How many more values may be made; one of them is taken.
    pub fn take(&mut self) -> bool {
        self.value_budget = self.value_budget.saturating_sub(1);
        self.value_budget > 0
    }

    /// Runs `inner` one level deeper; `None` when that is too deep.
    pub fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.depth >= DEPTH || self.value_budget == 0 {
            return None;
        }
        self.depth += 1;
        let value = inner(self);
        self.depth -= 1;
        Some(value)
    }

    /// Value `n` of a row, by its type and rule.
    pub fn param(&mut self, row: &Row<'_>, n: usize) -> Value {
        let Some(param) = row.params.get(n) else { return Value::Missing };
        if !self.take() {
            return Value::Missing;
        }
        let Some(cell) = row.cell(n, self.size_of(param.ty)) else { return Value::Missing };
        let bytes = cell.bytes();
        match (self.ty(param.ty), param.rule) {
            (Type::Pointer(to, _), rule) => match word(bytes) {
                0 if !matches!(rule, Rule::Word(..)) => Value::Null,
                address => self.pointer(row, param, to, address),
            },
            (Type::DevicePointer, Rule::Memory(count)) => {
                let struct_length = || self.enclosing_rule.and_then(|(length, _)| length);
                let length = self.count(row, count).or_else(struct_length);
                self.on_device(word(bytes), length)
            }
            (Type::DevicePointer, Rule::Either(count)) => {
                let length = self.count(row, count);
                self.address_or(word(bytes), length, self.fallback(row, param.rule, word(bytes)))
            }
            // One that may be asked about, whatever it is.
            (Type::DevicePointer, Rule::Host(count)) => {
                let length = self.count(row, count);
                self.address_or(word(bytes), length, Fallback::Host)
            }
            (Type::Union(of), _) => self.union(of, Some(row), bytes),
            // What is said of a struct is said of the address in it.
            (
                Type::Struct(first),
                Rule::Memory(count) | Rule::Host(count) | Rule::From(count, _) | Rule::To(count, _),
            ) => {
                self.enclosing_rule = Some((self.count(row, count), self.fallback(row, param.rule, 0)));
                let value = self.deeper(|w| w.structure(first, bytes, bytes.len() as u64)).unwrap_or(Value::Missing);
                self.enclosing_rule = None;
                value
            }
            (Type::Array(of, _), _) if param.unit == Unit::Hex && self.size_of(of) == 1 => Value::Id(bytes.into()),
            (Type::Array(of, many), Rule::Array(count)) => {
                let total = self.count(row, count).unwrap_or(many.into()).min(many.into());
                self.items(of, bytes, total)
            }
            (Type::Int { .. }, Rule::Tagged(tags, sibling, _)) => {
                let ty = self.announced(row, tags, sibling).filter(|ty| self.size_of(*ty) == bytes.len());
                self.by_type(ty.unwrap_or(param.ty), bytes, param.unit)
            }
            (Type::Int { .. }, Rule::Memory(_)) if bytes.len() == 8 => self.address(word(bytes), None),
            (Type::Int { .. }, Rule::Opaque) if bytes.len() == 8 => Value::Opaque(word(bytes)),
            _ => self.by_type(param.ty, bytes, param.unit),
        }
    }

    /// What an address is said to be that lies in no allocation.
    fn fallback(&self, row: &Row<'_>, rule: Rule, address: u64) -> Fallback {
        let (kind, from) = match rule {
            Rule::Host(_) => return Fallback::Host,
            Rule::Either(_) if self.either(address).is_some() => return Fallback::Readable,
            Rule::From(_, kind) => (kind, true),
            Rule::To(_, kind) => (kind, false),
            _ => return Fallback::ByRange,
        };
        let host = self.sibling(row, kind).is_some_and(|kind| is_hosts(kind, from));
        if host { Fallback::Host } else { Fallback::ByRange }
    }

    fn pointer(&mut self, row: &Row<'_>, param: &Param, to: TypeId, address: u64) -> Value {
        if param.unit == Unit::ByMode
            && let Some(mode) = self.mode_of(row, param)
        {
            // In other modes it is a vector, as long as the result has rows.
            let length = if mode == 1 { self.scalar_bytes(row, param.rule, to) } else { None };
            return self.address_or(address, length, Fallback::ByRange);
        }
        match param.rule {
            Rule::Opaque => return self.opaque(address),
            Rule::Memory(count)
            | Rule::Host(count)
            | Rule::Either(count)
            | Rule::From(count, _)
            | Rule::To(count, _) => {
                let length = self.bytes_of(row, count, to);
                // Of a pointer in a struct the struct around it may say it.
                let (length, fallback) = match self.enclosing_rule {
                    Some((struct_length, struct_fallback)) if length.is_none() => (struct_length, struct_fallback),
                    _ => (length, self.fallback(row, param.rule, address)),
                };
                return self.address_or(address, length, fallback);
            }
            _ if self.side == Side::Before && param.dir == Dir::Out => return Value::Address(address, None),
            // A launch's parameters in a struct that the call also writes are kept on both sides.
            Rule::KernelParams(..) | Rule::Extra => {}
            // Only in a struct that the call also writes: what was kept before it.
            _ if self.side == Side::After && param.dir == Dir::In => {
                let after = (self.memory, self.side);
                (self.memory, self.side) = (self.before, Side::Before);
                let value = self.pointer(row, param, to, address);
                (self.memory, self.side) = after;
                return value;
            }
            _ => {}
        }
        if let Rule::Array(count)
        | Rule::Addresses(count, _)
        | Rule::Texts(count)
        | Rule::Tagged(_, _, count)
        | Rule::OptionValues(_, count) = param.rule
            && self.count(row, count) == Some(0)
        {
            let none = Items { values: Vec::new(), total: 0 };
            return Value::Pointee(address, Box::new(Value::Array(Box::new(none))));
        }
        let value = self.deeper(|w| match param.rule {
            Rule::Array(count) => w.array(row, to, address, count),
            Rule::Text => w.text(address, None),
            Rule::TextOf(count) => {
                let most = w.count(row, count);
                w.text(address, most)
            }
            Rule::Texts(count) => w.texts(row, address, count),
            Rule::Behind(count) => w.behind_address(row, to, address, count),
            Rule::Tagged(tags, sibling, count) => match w.ty(to) {
                // A number, of which the tag may say that it has names.
                Type::Int { .. } if w.announced(row, tags, sibling).is_none() => w.target(to, address, param.unit),
                Type::Union(first) if let Some(value) = w.union_at(first, row, sibling, address) => Some(value),
                _ => w.tagged(row, address, tags, sibling, count),
            },
            Rule::Addresses(count, bytes) => w.addresses(row, address, count, bytes),
            Rule::Scalar(tags, sibling) => w.tagged(row, address, tags, sibling, Count::Fixed(1)),
            Rule::ScalarOr(tags, sibling, or, other) => {
                let first = w.tagged(row, address, tags, sibling, Count::Fixed(1));
                first.or_else(|| w.tagged(row, address, or, other, Count::Fixed(1)))
            }
            Rule::Word(tags, sibling) => w.word(row, address, tags, sibling),
            Rule::OptionValues(keys, count) => w.options(row, address, keys, count),
            Rule::KernelParams(function, or) => w.kernel_params(row, address, function, or),
            Rule::Extra => w.extra(row, address),
            _ => w.target(to, address, param.unit),
        });
        value.flatten().unwrap_or_else(|| self.plain(param, address))
    }

    /// An address that is not read. Runtimes take a kernel's handle in the place of a function of the program.
    fn opaque(&self, address: u64) -> Value {
        match self.state.as_ref().and_then(|state| state.handles.kernel(address)) {
            Some((kind, number)) => Value::Handle { value: address, kind, number, standing: Standing::Live },
            None => Value::Opaque(address),
        }
    }

    /// A pointer whose target was not kept.
    fn plain(&self, param: &Param, address: u64) -> Value {
        match param.rule {
            // Numbers behind it may be in device memory.
            Rule::One | Rule::Array(_) | Rule::Addresses(..) | Rule::Tagged(..) => self.address(address, None),
            Rule::Word(..) => Value::Opaque(address),
            // In whichever memory the library was told, but always a number.
            Rule::Scalar(..) | Rule::ScalarOr(..) => self.address_or(address, None, Fallback::ByRange),
            _ => Value::Address(address, None),
        }
    }

    /// What a pointer to one value leads to.
    pub fn target(&mut self, to: TypeId, address: u64, unit: Unit) -> Option<Value> {
        let fragment = self.memory.at(address)?;
        match self.ty(to) {
            Type::Void => None,
            Type::Char => self.text(address, None),
            Type::Struct(first) => {
                let value = self.structure(first, fragment.bytes, fragment.full_length.into());
                Some(Value::Pointee(address, Box::new(value)))
            }
            Type::Union(of) => {
                let value = self.union(of, None, fragment.bytes);
                Some(Value::Pointee(address, Box::new(value)))
            }
            _ => {
                let bytes = fragment.bytes.get(..self.size_of(to))?;
                let value = self.by_type(to, bytes, unit);
                Some(Value::Pointee(address, Box::new(value)))
            }
        }
    }

    /// An address of memory, and where it leads to.
    pub fn address(&self, address: u64, length: Option<u64>) -> Value {
        self.address_or(address, length, Fallback::Nothing)
    }

    /// The same, where an address is sure to be meant.
    pub fn on_device(&self, address: u64, length: Option<u64>) -> Value {
        self.address_or(address, length, Fallback::ByRange)
    }

    /// The same, and what is said of an address that lies in no allocation.
    pub fn address_or(&self, address: u64, length: Option<u64>, fallback: Fallback) -> Value {
        if address == 0 {
            return Value::Null;
        }
        let Some(state) = self.state.as_ref().filter(|_| !self.new_memory && self.new_address != address) else {
            return Value::Address(address, None);
        };
        let Some((mut place, owner)) = state.allocations.at(address, length, fallback) else {
            let wild = fallback != Fallback::Nothing && !can_be(address);
            return if wild { Value::Wild(address) } else { Value::Address(address, None) };
        };
        place.of = owner.and_then(|(kind, value)| {
            let (number, standing) = state.handles.get(kind, value)?;
            // What is mapped stays when its handle is released.
            let standing = if place.memory == known::Memory::Mapped { Standing::Live } else { standing };
            Some(Owner { short: kind.short, number, standing })
        });
        Value::Address(address, Some(Box::new(place)))
    }

    /// Bytes that so many elements have.
    fn bytes_of(&mut self, row: &Row<'_>, count: Count, to: TypeId) -> Option<u64> {
        let size = self.element(to) as u64;
        self.count(row, count)?.checked_mul(size)
    }

    /// Whether some version of a struct has so many bytes.
    pub fn has_layout(&self, first: u16, bytes: u64) -> bool {
        let rows = self.tables.structs.get(usize::from(first)..).unwrap_or_default();
        let name = rows.first().map_or("", |row| row.name);
        rows.iter().take_while(|row| row.name == name).any(|row| u64::from(row.size) == bytes)
    }

    /// A struct's first row of a name stands for all of them: the one of this version.
    pub fn struct_of(&self, first: u16) -> Option<&'static known::Struct> {
        let rows = self.tables.structs.get(usize::from(first)..)?;
        let name = rows.first()?.name;
        let same = || rows.iter().take_while(|s| s.name == name);
        same().find(|s| s.since <= self.version && self.version <= s.until).or_else(|| {
            // For a version without a row: the one before it, or the oldest.
            same().filter(|s| s.since <= self.version).last().or(same().next())
        })
    }
}

/// Whether the host's side is meant of a copy of this cudaMemcpyKind.
fn is_hosts(kind: u64, from: bool) -> bool {
    const HOST_TO_HOST: u64 = 0;
    const HOST_TO_DEVICE: u64 = 1;
    const DEVICE_TO_HOST: u64 = 2;
    kind == HOST_TO_HOST || kind == if from { HOST_TO_DEVICE } else { DEVICE_TO_HOST }
}

/// The first eight bytes, or fewer, as a number.
pub fn word(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).rev().fold(0, |w, b| w << 8 | u64::from(*b))
}
