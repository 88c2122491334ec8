//! Maps of im2col: a copy takes pixels of a box along all sides between the first and the last, and channels of each.

use crate::generated::{at, limit};
use crate::{BOX_IS_LARGE, Element, LINE_IS_LONG, LINE_IS_NOT_WHOLE, Refusal, Swizzle, Tensor, TensorMap, check};

/// The arguments of `cuTensorMapEncodeIm2col`, with its numbers. The sides are channels, the pixels' sides, and images.
/// Strides have an entry less than sides, corners two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Im2col<'a> {
    /// CUtensorMapDataType.
    pub element: u32,
    /// The GPU's address of the tensor.
    pub address: u64,
    /// Elements of each side, the innermost first.
    pub sides: &'a [u64],
    /// Bytes from one element to the next, of each side but the first.
    pub strides: &'a [u64],
    /// Where the box of pixels begins, from the tensor's first pixel.
    pub lower: &'a [i32],
    /// Where it ends, from the tensor's last pixel.
    pub upper: &'a [i32],
    /// Channels of a pixel that a copy takes.
    pub channels: u32,
    /// Pixels that a copy takes.
    pub pixels: u32,
    /// Of each side, one in so many elements is copied.
    pub steps: &'a [u32],
    /// CUtensorMapInterleave.
    pub interleave: u32,
    /// CUtensorMapSwizzle.
    pub swizzle: u32,
    /// CUtensorMapL2promotion.
    pub promotion: u32,
    /// CUtensorMapFloatOOBfill.
    pub fill: u32,
}

impl Im2col<'_> {
    fn tensor(&self) -> Tensor<'_> {
        let Self { element, address, sides, strides, steps, interleave, swizzle, promotion, fill, .. } = *self;
        Tensor { element, address, sides, strides, steps, interleave, swizzle, promotion, fill }
    }

    /// The map.
    ///
    /// # Errors
    /// An argument is outside of what the driver takes.
    pub fn encode(&self) -> Result<TensorMap, Refusal> {
        let (element, swizzle) = self.check()?;
        let mut map = self.tensor().encode(element, swizzle);
        let bits = self.corner_bits();
        for (n, (lower, upper)) in self.lower.iter().zip(self.upper).enumerate() {
            // Numbers with a sign: the field keeps their lower bits.
            map.set((at::LOWER.0, bits, bits), n, *lower as u64);
            map.set((at::UPPER.0, bits, bits), n, *upper as u64);
        }
        map.set(at::IM2COL, 0, 1);
        map.set(at::FIRST_BOX, 0, u64::from(self.channels) - 1);
        map.set(at::PIXELS, 0, u64::from(self.pixels) - 1);
        map.set(at::BYTES, 0, self.copied_bytes(element));
        Ok(map)
    }

    /// Bits of a number of a corner. More sides leave fewer bits for each.
    fn corner_bits(&self) -> usize {
        let rank = self.sides.len().checked_sub(limit::IM2COL_RANK);
        rank.and_then(|rank| limit::CORNER_BITS.get(rank)).copied().unwrap_or(0)
    }

    /// Bytes that one copy moves. Steps do not change them.
    fn copied_bytes(&self, element: &Element) -> u64 {
        u64::from(self.channels) * u64::from(self.pixels) * element.bytes
    }

    fn check(&self) -> Result<(&'static Element, &'static Swizzle), Refusal> {
        let rank = self.sides.len();
        check((limit::IM2COL_RANK..=limit::MOST_RANK).contains(&rank), "a rank that is not 3 to 5")?;
        let (element, swizzle) = self.tensor().check()?;
        let corners = rank - 2;
        check((self.lower.len(), self.upper.len()) == (corners, corners), "lists of different lengths")?;
        let is_counted = (1..=limit::MOST_CHANNELS).contains(&self.channels);
        check(is_counted && (1..=limit::MOST_PIXELS).contains(&self.pixels), "too many channels or pixels, or none")?;
        let half = 1_i64 << (self.corner_bits().max(1) - 1);
        let mut numbers = self.lower.iter().chain(self.upper);
        check(numbers.all(|n| (-half..half).contains(&i64::from(*n))), "a corner beyond its bits")?;
        let line = u64::from(self.channels) * element.bytes;
        check(line.is_multiple_of(limit::LINE_UNIT), LINE_IS_NOT_WHOLE)?;
        if self.interleave == 0 {
            let is_empty = |(side, (lower, upper)): (&u64, (&i32, &i32))| {
                i128::from(*side) + i128::from(*upper) <= i128::from(*lower)
            };
            let sides = self.sides.iter().skip(1);
            check(!sides.zip(self.lower.iter().zip(self.upper)).any(is_empty), "a box without pixels")?;
            check(swizzle.takes_line(line), LINE_IS_LONG)?;
        }
        check(self.copied_bytes(element) <= limit::MOST_BOX, BOX_IS_LARGE)?;
        Ok((element, swizzle))
    }
}
