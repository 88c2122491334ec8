//! Where a call's parameters are: in which registers and words of the stack (System V ABI for x86-64,
//! 3.2.3), and at which bytes of the block that a runtime's callback gives (a C struct of them).

use super::known::{Shape, TypeId};
use super::tables::{Class, Extent, Member};

const INTEGERS: u8 = 6;
const VECTORS: u8 = 8;
/// More words of the stack are neither recorded nor passed on by a frame; none has more than 35.
const STACK: u32 = 40;

/// Where one parameter's first eight bytes are, and its second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Integer(u8),
    Vector(u8),
    /// Word of the stack.
    Stack(u32),
}

/// Sets each parameter's words; `hidden` when the caller passes a place for the result in front.
pub(crate) fn registers(params: &mut [Member], extents: &[Extent], hidden: bool) -> Shape {
    let (mut integers, mut vectors, mut stack) = (u8::from(hidden), 0u8, 0u32);
    let mut places = Vec::new();
    for extent in extents {
        let classes: Vec<Class> = extent.classes.iter().flatten().copied().collect();
        let count_of = |class| classes.iter().filter(|c| **c == class).count() as u8;
        let (i, v) = (count_of(Class::Integer), count_of(Class::Vector));
        // All of it in registers or none.
        if extent.size <= 16 && integers + i <= INTEGERS && vectors + v <= VECTORS {
            let mut at = Vec::new();
            for class in classes {
                let (next, place): (_, fn(u8) -> At) = match class {
                    Class::Integer => (&mut integers, At::Integer),
                    Class::Vector => (&mut vectors, At::Vector),
                };
                at.push(place(*next));
                *next += 1;
            }
            places.push((at.first().copied(), at.get(1).copied()));
        } else {
            let words = extent.size.div_ceil(8).max(1);
            places.push((Some(At::Stack(stack)), (words == 2).then_some(At::Stack(stack + 1))));
            stack += words;
        }
    }
    let shape = Shape { ints: integers, vectors, stack: stack.min(STACK) as u8 };
    for ((param, (first, second)), extent) in params.iter_mut().zip(places).zip(extents) {
        param.word = word(shape, first, extent.size);
        param.second = word(shape, second, 8);
    }
    shape
}

/// Index among the recorded words; 255 when it is not recorded whole.
fn word(shape: Shape, at: Option<At>, size: u32) -> u8 {
    match at {
        Some(At::Integer(n)) => n,
        Some(At::Vector(n)) => shape.ints + n,
        Some(At::Stack(n)) if n + size.div_ceil(8) <= u32::from(shape.stack) => shape.ints + shape.vectors + n as u8,
        _ => 255,
    }
}

/// Sets each parameter's offset in the block; the block's bytes.
pub(crate) fn block(params: &mut [Member], extents: &[Extent]) -> u32 {
    let (mut end, mut align) = (0u32, 1);
    for (param, extent) in params.iter_mut().zip(extents) {
        end = end.next_multiple_of(extent.align);
        param.offset = u16::try_from(end).unwrap_or(u16::MAX);
        end += extent.size;
        align = align.max(extent.align);
    }
    end.next_multiple_of(align)
}

/// Whether a result of this size is written to a place that the caller passes.
pub(crate) fn is_hidden(result: Extent, void: TypeId, returns: TypeId) -> bool {
    returns != void && result.size > 16
}
