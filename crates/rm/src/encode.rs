//! From a tree back to its bytes: the argument, and each buffer that a pointer leads to.

use crate::Moment;
use crate::place::mask;
use crate::tree::{Call, Node, Target, Value};
use alloc::vec;
use alloc::vec::Vec;

impl Call {
    /// The argument's bytes. Those of a decoded request are the ones that it was decoded from.
    #[must_use]
    pub fn encode(&self, moment: Moment) -> Vec<u8> {
        self.argument.encode(moment)
    }

    /// The memory behind pointers: address and bytes of each.
    #[must_use]
    pub fn buffers(&self, moment: Moment) -> Vec<(u64, Vec<u8>)> {
        let mut found = Vec::new();
        collect(&self.argument, moment, &mut found);
        found
    }
}

impl Node {
    /// The bytes of a buffer: of an argument, or of what a pointer leads to.
    #[must_use]
    pub fn encode(&self, moment: Moment) -> Vec<u8> {
        let mut out = vec![0; self.offset.saturating_add(self.size)];
        self.write(moment, &mut out);
        out.split_off(self.offset.min(out.len()))
    }

    fn write(&self, moment: Moment, out: &mut [u8]) {
        let into = out.get_mut(self.offset..).unwrap_or_default();
        match &self.value {
            Value::Number { form, bits, before, after, .. } => {
                let value = if moment == Moment::Before { *before } else { *after };
                let value = bits.map_or(value, |(bit, bits)| (value & mask(bits)) << bit);
                add(into, value.to_le_bytes().get(..form.size()).unwrap_or_default());
            }
            Value::Pointer { before, after, .. } => {
                let value = if moment == Moment::Before { *before } else { *after };
                add(into, &value.to_le_bytes());
            }
            Value::Numbers { bytes, .. } | Value::Bytes(bytes) | Value::Union { bytes, .. } => {
                add(into, bytes.at(moment))
            }
            Value::Struct(nodes) | Value::Array(nodes) => nodes.iter().for_each(|n| n.write(moment, out)),
        }
    }
}

/// Fields of bits share bytes.
fn add(out: &mut [u8], bytes: &[u8]) {
    out.iter_mut().zip(bytes).for_each(|(to, from)| *to |= from);
}

fn collect(node: &Node, moment: Moment, out: &mut Vec<(u64, Vec<u8>)>) {
    if let Value::Pointer { before, target: Target::Read(inner), .. } = &node.value {
        out.push((*before, inner.encode(moment)));
        collect(inner, moment, out);
    }
    node.children().iter().for_each(|n| collect(n, moment, out));
}
