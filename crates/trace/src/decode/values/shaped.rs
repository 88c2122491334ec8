//! Memory whose shape is in sibling parameters: rows with a pitch under a texture, tensors. The siblings are found by
//! the names that all such functions and structs use. An unknown size is none.

use super::count::rows;
use super::row::Row;
use super::walk::{Walk, word};
use cutap_calls::known::{NO_TAGS, Rule, Type};

impl Walk<'_> {
    /// Bytes of rows of elements, from the first to the last.
    pub fn plane(&self, row: &Row<'_>, tags: u16, by: u8) -> Option<u64> {
        let element = if tags == NO_TAGS {
            let bits = ["x", "y", "z", "w"].map(|channel| self.inside(row, by, channel));
            bits.into_iter().try_fold(0u64, |sum, bits| sum.checked_add(bits?))? / 8
        } else {
            let channel = self.size_of(self.announced(row, tags, by)?) as u64;
            channel.checked_mul(self.named(row, &["numChannels"])?)?
        };
        let pitch = self.named(row, &["pitchInBytes"]).or_else(|| self.named(row, &["pitch"]))?;
        rows(pitch, self.named(row, &["width"])?.checked_mul(element)?, self.named(row, &["height"])?)
    }

    /// Bytes of a tensor: its first dimension lies together, each other one has a stride.
    pub fn tensor(&self, row: &Row<'_>, element: u64) -> Option<u64> {
        let rank = usize::try_from(self.named(row, &["tensorRank"])?).ok()?;
        let dims = self.numbers(row, "globalDim", rank)?;
        let (first, outer_dims) = dims.split_first()?;
        if dims.contains(&0) {
            return Some(0);
        }
        let strides = self.numbers(row, "globalStrides", outer_dims.len())?;
        let together = first.checked_mul(element).filter(|_| element > 0)?;
        outer_dims
            .iter()
            .zip(strides)
            .try_fold(together, |sum, (n, stride)| sum.checked_add((n - 1).checked_mul(stride)?))
    }

    /// A field of the struct that a sibling is, or points to.
    fn inside(&self, row: &Row<'_>, n: u8, field: &str) -> Option<u64> {
        let param = row.params.get(usize::from(n))?;
        match self.ty(param.ty) {
            Type::Pointer(to, _) => self.field(to, self.either(word(row.cell(n.into(), 8)?.bytes()))?.bytes, field),
            _ => self.field(param.ty, row.cell(n.into(), self.size_of(param.ty))?.bytes(), field),
        }
    }

    /// The first numbers of an array of 64-bit ones that was kept.
    fn numbers(&self, row: &Row<'_>, name: &str, count: usize) -> Option<Vec<u64>> {
        let n = row.params.iter().position(|p| p.name == name && matches!(p.rule, Rule::Array(_)))?;
        let Type::Pointer(to, _) = self.ty(row.params.get(n)?.ty) else { return None };
        // A tensor of rank 1 has no strides.
        if count == 0 {
            return Some(Vec::new());
        }
        let size = self.size_of(to).max(1);
        let bytes = self.either(word(row.cell(n, 8)?.bytes()))?.bytes;
        let all: Vec<u64> = bytes.chunks_exact(size).take(count).map_while(|b| self.whole_number(to, b)).collect();
        (all.len() == count).then_some(all)
    }
}
