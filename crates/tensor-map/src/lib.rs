//! Tensor maps: the 128 bytes by which a kernel of sm_90 names a tensor in memory, and the box of it that one
//! instruction copies. Field positions and limits come from `api/tensor-map.toml`.
//!
//! ```
//! use cutap_tensor_map::Tiled;
//!
//! // 1000 lines of 512 bytes, of which 512 x 64 are a box.
//! let map = Tiled {
//!     element: 0,
//!     address: 0x7f00_0000_0000,
//!     sides: &[512, 1000],
//!     strides: &[512],
//!     box_sides: &[256, 64],
//!     steps: &[1, 1],
//!     interleave: 0,
//!     swizzle: 0,
//!     promotion: 0,
//!     fill: 0,
//! };
//! assert_eq!(map.encode().unwrap().words()[8..10], [511, 999]);
//! ```
#![warn(missing_docs)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod generated;
mod im2col;

pub use im2col::Im2col;

use generated::{ELEMENTS, INTERLEAVES, SWIZZLES, WORDS, at, limit};

/// A field: lowest bit, bits, how far the next one of a list is.
type Field = (usize, usize, usize);

/// A kind of element.
struct Element {
    bytes: u64,
    code: u32,
    is_float: bool,
    is_tf32: bool,
}

/// What a box without interleave may have with a swizzle.
struct Swizzle {
    /// Most bytes of its first side; 0: any.
    most_line: u64,
    period: u32,
}

impl Swizzle {
    /// Whether a line of so many bytes fits.
    fn takes_line(&self, line: u64) -> bool {
        self.most_line == 0 || line <= self.most_line
    }
}

/// Why there is no map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// NVIDIA's driver refuses it too, for this reason.
    Invalid(&'static str),
    /// How NVIDIA's driver encodes it is not known.
    Unknown(&'static str),
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Invalid(what) => write!(f, "a tensor map with {what}"),
            Self::Unknown(what) => write!(f, "a tensor map with {what}: its encoding is not known"),
        }
    }
}

impl std::error::Error for Refusal {}

/// The arguments of `cuTensorMapEncodeTiled`, with its numbers. Lists have an entry for each side, strides one less.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tiled<'a> {
    /// CUtensorMapDataType.
    pub element: u32,
    /// The GPU's address of the tensor.
    pub address: u64,
    /// Elements of each side, the innermost first.
    pub sides: &'a [u64],
    /// Bytes from one element to the next, of each side but the first.
    pub strides: &'a [u64],
    /// Elements of each side of a box.
    pub box_sides: &'a [u32],
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

/// A tensor map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TensorMap([u32; WORDS]);

const LINE_IS_NOT_WHOLE: &str = "a box whose lines are no multiples of 16 bytes";
const LINE_IS_LONG: &str = "a box whose lines are longer than the swizzle";
const BOX_IS_LARGE: &str = "a box larger than shared memory";

fn check(is_good: bool, what: &'static str) -> Result<(), Refusal> {
    if is_good { Ok(()) } else { Err(Refusal::Invalid(what)) }
}

/// What both kinds of maps say of a tensor.
struct Tensor<'a> {
    element: u32,
    address: u64,
    sides: &'a [u64],
    strides: &'a [u64],
    steps: &'a [u32],
    interleave: u32,
    swizzle: u32,
    promotion: u32,
    fill: u32,
}

impl Tensor<'_> {
    fn check(&self) -> Result<(&'static Element, &'static Swizzle), Refusal> {
        let rank = self.sides.len();
        check((1..=limit::MOST_RANK).contains(&rank), "a rank that is not 1 to 5")?;
        check((self.strides.len(), self.steps.len()) == (rank - 1, rank), "lists of different lengths")?;
        let later = self.element < limit::ELEMENT_KINDS;
        let unknown =
            if later { Refusal::Unknown("an element of a later GPU") } else { Refusal::Invalid("no element") };
        let element = ELEMENTS.get(self.element as usize).ok_or(unknown)?;
        let swizzle = SWIZZLES.get(self.swizzle as usize).ok_or(Refusal::Invalid("a swizzle of a later GPU"))?;
        let unit =
            INTERLEAVES.get(self.interleave as usize).copied().ok_or(Refusal::Invalid("an unknown interleave"))?;
        check(self.interleave == 0 || rank >= limit::INTERLEAVED_RANK, "interleave and a rank below 3")?;
        check(self.promotion <= limit::MOST_PROMOTION && self.fill <= 1, "an unknown promotion or fill")?;
        check(self.fill == 0 || element.is_float, "a fill of NaN and elements that are no floats")?;
        check(self.address.is_multiple_of(unit), "an address that is not aligned")?;
        check(self.strides.iter().all(|stride| stride.is_multiple_of(unit)), "a stride that is not aligned")?;
        check(self.strides.iter().all(|stride| *stride < limit::MOST_STRIDE), "a stride of 2^40 bytes or more")?;
        check(self.sides.iter().all(|side| (1..=limit::MOST_SIDE).contains(side)), "a side that is not 1 to 2^32")?;
        check(self.steps.iter().all(|step| (1..=limit::MOST_STEP).contains(step)), "a step that is not 1 to 8")?;
        Ok((element, swizzle))
    }

    /// A map with all that says the tensor.
    fn encode(&self, element: &Element, swizzle: &Swizzle) -> TensorMap {
        let mut map = TensorMap([0; WORDS]);
        map.set_address(self.address);
        map.set(at::RANK, 0, self.sides.len() as u64 - 1);
        map.set(at::ELEMENT, 0, element.code.into());
        map.set(at::INTERLEAVE, 0, self.interleave.into());
        map.set(at::SWIZZLE, 0, self.swizzle.into());
        map.set(at::FILL, 0, self.fill.into());
        map.set(at::TF32, 0, element.is_tf32.into());
        map.set(at::PROMOTION, 0, self.promotion.into());
        for (n, stride) in self.strides.iter().enumerate() {
            let units = stride / limit::LINE_UNIT;
            map.set(at::STRIDE, n, units);
            map.set(at::STRIDE_HIGH, n, units >> at::STRIDE.1);
        }
        for (n, side) in self.sides.iter().enumerate() {
            map.set(at::SIDE, n, side - 1);
        }
        for (n, step) in self.steps.iter().enumerate() {
            map.set(at::STEP, n, u64::from(*step) - 1);
        }
        map.set(at::PERIOD, 0, swizzle.period.into());
        map
    }
}

impl Tiled<'_> {
    fn tensor(&self) -> Tensor<'_> {
        let Self { element, address, sides, strides, box_sides: _, steps, interleave, swizzle, promotion, fill } =
            *self;
        Tensor { element, address, sides, strides, steps, interleave, swizzle, promotion, fill }
    }

    /// The map.
    ///
    /// # Errors
    /// An argument is outside of what the driver takes.
    pub fn encode(&self) -> Result<TensorMap, Refusal> {
        let (element, swizzle) = self.check()?;
        let mut map = self.tensor().encode(element, swizzle);
        for (n, side) in self.box_sides.iter().enumerate() {
            let (field, n) = if n == 0 { (at::FIRST_BOX, 0) } else { (at::BOX, n - 1) };
            map.set(field, n, u64::from(*side) - 1);
        }
        map.set(at::BYTES, 0, self.copied_bytes(element));
        Ok(map)
    }

    /// Bytes that one copy moves.
    fn copied_bytes(&self, element: &Element) -> u64 {
        let counts = self.box_sides.iter().zip(self.steps).map(|(side, step)| u64::from(side / step));
        counts.fold(element.bytes, u64::saturating_mul)
    }

    fn check(&self) -> Result<(&'static Element, &'static Swizzle), Refusal> {
        let (element, swizzle) = self.tensor().check()?;
        check(self.box_sides.len() == self.sides.len(), "lists of different lengths")?;
        let is_box = self.box_sides.iter().all(|side| (1..=limit::MOST_BOX_SIDE).contains(side));
        check(is_box, "a side of a box that is not 1 to 256")?;
        let line = u64::from(self.box_sides.first().copied().unwrap_or(0)) * element.bytes;
        if self.interleave == 0 {
            check(line.is_multiple_of(limit::LINE_UNIT), LINE_IS_NOT_WHOLE)?;
            check(swizzle.takes_line(line), LINE_IS_LONG)?;
        }
        check(self.copied_bytes(element) <= limit::MOST_BOX, BOX_IS_LARGE)?;
        Ok((element, swizzle))
    }
}

impl TensorMap {
    /// A map from its words.
    #[must_use]
    pub fn from_words(words: [u32; WORDS]) -> Self {
        Self(words)
    }

    /// Whether the words can be a map: each has the period of its swizzle.
    #[must_use]
    pub fn is_map(&self) -> bool {
        let period = SWIZZLES.get(self.get(at::SWIZZLE) as usize).map(|swizzle| swizzle.period);
        period == Some(self.get(at::PERIOD))
    }

    /// Its words.
    #[must_use]
    pub fn words(&self) -> &[u32; WORDS] {
        &self.0
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> [u8; WORDS * 4] {
        let mut bytes = [0; WORDS * 4];
        let (quads, _) = bytes.as_chunks_mut::<4>();
        quads.iter_mut().zip(self.0).for_each(|(quad, word)| *quad = word.to_le_bytes());
        bytes
    }

    /// Names another tensor of the same shape.
    pub fn set_address(&mut self, address: u64) {
        self.set(at::ADDRESS, 0, address);
    }

    /// What the tensor's address must be a multiple of.
    #[must_use]
    pub fn address_unit(&self) -> u64 {
        INTERLEAVES.get(self.get(at::INTERLEAVE) as usize).copied().unwrap_or(1)
    }

    /// A field of one word at most.
    fn get(&self, (first, bits, _): Field) -> u32 {
        let mask = ((1_u64 << bits) - 1) as u32;
        self.0.get(first / 32).map_or(0, |word| word >> (first % 32) & mask)
    }

    /// The entry `n` of a field. No field crosses two words in part.
    fn set(&mut self, (first, bits, distance): Field, n: usize, value: u64) {
        for (part, shift) in (0..bits).step_by(32).enumerate() {
            let (first, bits) = (first + n * distance + part * 32, (bits - part * 32).min(32));
            let mask = ((1_u64 << bits) - 1) as u32;
            if let Some(word) = self.0.get_mut(first / 32) {
                let value = (value >> shift) as u32 & mask;
                *word = *word & !(mask << (first % 32)) | value << (first % 32);
            }
        }
    }
}
