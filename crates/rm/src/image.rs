//! The bytes of one buffer before and after a request, and which of their bits a tree has fields for.

use crate::Kind;
use crate::place::mask;
use crate::tree::{Bytes, Name, Node, Value};
use alloc::vec;
use alloc::vec::Vec;

/// A buffer. `after` has the length of `before`.
#[derive(Clone, Copy)]
pub(crate) struct Image<'a> {
    pub(crate) before: &'a [u8],
    pub(crate) after: Option<&'a [u8]>,
}

/// A buffer that was read behind a pointer.
pub(crate) struct Source {
    before: Vec<u8>,
    after: Option<Vec<u8>>,
    wanted: usize,
}

impl Source {
    pub(crate) fn of(before: Vec<u8>, after: Option<Vec<u8>>, wanted: usize) -> Self {
        Self { before, after, wanted }
    }

    pub(crate) fn is_short(&self) -> bool {
        self.before.len() < self.wanted
    }

    pub(crate) fn image(&self) -> Image<'_> {
        Image::of(&self.before, self.after.as_deref())
    }
}

impl<'a> Image<'a> {
    pub(crate) fn of(before: &'a [u8], after: Option<&'a [u8]>) -> Self {
        Self { before, after: after.filter(|a| a.len() == before.len()) }
    }

    /// The bytes of a range, cut at the end of the buffer.
    pub(crate) fn bytes(self, from: usize, size: usize) -> Bytes {
        let of = |bytes: &'a [u8]| {
            let rest = bytes.get(from..).unwrap_or_default();
            rest.get(..size.min(rest.len())).unwrap_or_default()
        };
        let before = of(self.before);
        let after = self.after.map(of).filter(|after| *after != before);
        Bytes { before: before.to_vec(), after: after.map(<[u8]>::to_vec) }
    }

    /// The bits of some bytes that are not 0; none where all are 0, so that nothing is left to cover.
    pub(crate) fn uncovered(self, from: usize, size: usize) -> Option<Uncovered> {
        let bytes = self.bytes(from, size);
        let zero = |b: &[u8]| b.iter().all(|b| *b == 0);
        (!zero(&bytes.before) || bytes.after.as_deref().is_some_and(|a| !zero(a))).then_some(Uncovered(bytes))
    }
}

/// What no field has covered yet.
pub(crate) struct Uncovered(Bytes);

impl Uncovered {
    /// A field has these bytes, or these bits of them.
    pub(crate) fn cover(&mut self, offset: usize, size: usize, bits: Option<(u32, u32)>) {
        for bytes in core::iter::once(&mut self.0.before).chain(self.0.after.as_mut()) {
            let covered = bytes.iter_mut().skip(offset).take(size);
            match bits {
                None => covered.for_each(|b| *b = 0),
                Some((bit, bits)) => {
                    let keep = (!(mask(bits) << bit)).to_le_bytes();
                    covered.zip(keep).for_each(|(b, keep)| *b &= keep);
                }
            }
        }
    }

    /// What is left, as runs of bytes.
    pub(crate) fn padding(self, base: usize) -> Vec<Node> {
        let Bytes { before, after } = self.0;
        let after = after.unwrap_or_else(|| before.clone());
        let mut nodes: Vec<Node> = Vec::new();
        for (at, (b, a)) in before.iter().zip(&after).enumerate().filter(|(_, (b, a))| **b != 0 || **a != 0) {
            let offset = base.saturating_add(at);
            match nodes.last_mut() {
                Some(Node { offset: from, size, value: Value::Bytes(bytes), .. })
                    if from.saturating_add(*size) == offset =>
                {
                    *size += 1;
                    bytes.before.push(*b);
                    if let Some(after) = bytes.after.as_mut() {
                        after.push(*a);
                    }
                }
                _ => {
                    let value = Value::Bytes(Bytes { before: vec![*b], after: Some(vec![*a]) });
                    nodes.push(Node { name: Name::Padding, ty: "", offset, size: 1, kind: Kind::Number, value });
                }
            }
        }
        nodes
    }
}
