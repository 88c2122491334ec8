//! Tensor maps, as the real driver makes them. The format of those of wide im2col, which later GPUs have, is not known:
//! arguments are checked, and the result contains them under a mark. No GPU may read it.

use crate::abi::{Answer, Fault, In, Out, answer};
use crate::engine::refused;
use cutap_tensor_map::{Im2col, Refusal, TensorMap, Tiled};

/// CUtensorMap
type Map = [u64; 16];
const MOST_RANK: usize = 5;
const MARK: u64 = u64::from_le_bytes(*b"cutaptma");

/// The arguments that all forms have.
struct Tensor {
    kind: u32,
    rank: u32,
    address: u64,
    sides: In<u64>,
    strides: In<u64>,
    steps: In<u32>,
    /// Interleave, swizzle, promotion, fill.
    modes: [u32; 4],
}

fn good(is: bool) -> Answer {
    if is { Ok(()) } else { Err(Fault::INVALID_VALUE) }
}

impl Tensor {
    fn check(&self, least_rank: u32) -> Answer<Map> {
        let [interleave, swizzle, promotion, fill] = self.modes;
        good(self.kind < 16 && (least_rank..=5).contains(&self.rank))?;
        good(interleave < 3 && swizzle < 7 && promotion < 4 && fill < 2)?;
        let unit = if interleave == 2 { 32 } else { 16 };
        good(self.address.is_multiple_of(unit))?;
        let mut map = [0; 16];
        map[..3].copy_from_slice(&[MARK, self.address, u64::from(self.kind) | u64::from(self.rank) << 32]);
        for n in 0..self.rank as usize {
            let (side, step) = (self.sides.get_at(n)?, self.steps.get_at(n)?);
            good((1..=1 << 32).contains(&side) && (1..=8).contains(&step))?;
            map[3 + n] = side;
        }
        for n in 0..self.rank as usize - 1 {
            let stride = self.strides.get_at(n)?;
            good(stride.is_multiple_of(unit) && stride < 1 << 40)?;
            map[8 + n] = stride;
        }
        Ok(map)
    }
}

pub extern "C" fn cuTensorMapEncodeTiled(
    map: Out<Map>,
    kind: u32,
    rank: u32,
    address: u64,
    sides: In<u64>,
    strides: In<u64>,
    boxes: In<u32>,
    steps: In<u32>,
    interleave: u32,
    swizzle: u32,
    promotion: u32,
    fill: u32,
) -> u32 {
    answer(|| {
        map.check()?;
        good((1..=MOST_RANK as u32).contains(&rank))?;
        let rank = rank as usize;
        let (sides, strides) = (list(sides, rank)?, list(strides, rank - 1)?);
        let (boxes, steps) = (list(boxes, rank)?, list(steps, rank)?);
        let tiled = Tiled {
            element: kind,
            address,
            sides: sides.get(..rank).unwrap_or_default(),
            strides: strides.get(..rank - 1).unwrap_or_default(),
            box_sides: boxes.get(..rank).unwrap_or_default(),
            steps: steps.get(..rank).unwrap_or_default(),
            interleave,
            swizzle,
            promotion,
            fill,
        };
        put(map, tiled.encode(), "cuTensorMapEncodeTiled")
    })
}

/// Gives a map to the program, or says why there is none.
fn put(map: Out<Map>, encoded: Result<TensorMap, Refusal>, function: &str) -> Answer {
    match encoded {
        Ok(encoded) => map.put(in_pairs(encoded.words())),
        Err(Refusal::Invalid(_)) => Err(Fault::INVALID_VALUE),
        Err(Refusal::Unknown(what)) => {
            refused::count(function, what, None);
            Err(Fault::NOT_SUPPORTED)
        }
    }
}

/// The first `count` numbers of a list of the program.
fn list<T: Copy + Default>(from: In<T>, count: usize) -> Answer<[T; MOST_RANK]> {
    let mut list = [T::default(); MOST_RANK];
    for (n, place) in list.iter_mut().enumerate().take(count) {
        *place = from.get_at(n)?;
    }
    Ok(list)
}

fn in_pairs(words: &[u32; 32]) -> Map {
    std::array::from_fn(|n| u64::from(words[2 * n]) | u64::from(words[2 * n + 1]) << 32)
}

pub extern "C" fn cuTensorMapEncodeIm2col(
    map: Out<Map>,
    kind: u32,
    rank: u32,
    address: u64,
    sides: In<u64>,
    strides: In<u64>,
    lower: In<i32>,
    upper: In<i32>,
    channels: u32,
    pixels: u32,
    steps: In<u32>,
    interleave: u32,
    swizzle: u32,
    promotion: u32,
    fill: u32,
) -> u32 {
    answer(|| {
        map.check()?;
        good((3..=MOST_RANK as u32).contains(&rank))?;
        let rank = rank as usize;
        let (sides, strides, steps) = (list(sides, rank)?, list(strides, rank - 1)?, list(steps, rank)?);
        let (lower, upper) = (list(lower, rank - 2)?, list(upper, rank - 2)?);
        let im2col = Im2col {
            element: kind,
            address,
            sides: sides.get(..rank).unwrap_or_default(),
            strides: strides.get(..rank - 1).unwrap_or_default(),
            lower: lower.get(..rank - 2).unwrap_or_default(),
            upper: upper.get(..rank - 2).unwrap_or_default(),
            channels,
            pixels,
            steps: steps.get(..rank).unwrap_or_default(),
            interleave,
            swizzle,
            promotion,
            fill,
        };
        put(map, im2col.encode(), "cuTensorMapEncodeIm2col")
    })
}

pub extern "C" fn cuTensorMapEncodeIm2colWide(
    map: Out<Map>,
    kind: u32,
    rank: u32,
    address: u64,
    sides: In<u64>,
    strides: In<u64>,
    _lower: i32,
    _upper: i32,
    channels: u32,
    pixels: u32,
    steps: In<u32>,
    interleave: u32,
    mode: u32,
    swizzle: u32,
    promotion: u32,
    fill: u32,
) -> u32 {
    answer(|| {
        refused::on_gpus("cuTensorMapEncodeIm2colWide")?;
        map.check()?;
        let modes = [interleave, swizzle, promotion, fill];
        let filled = Tensor { kind, rank, address, sides, strides, steps, modes }.check(3)?;
        good(channels <= 256 && pixels <= 1024 && mode < 2)?;
        map.put(filled)
    })
}

pub extern "C" fn cuTensorMapReplaceAddress(map: Out<Map>, address: u64) -> u32 {
    answer(|| {
        let mut filled = map.check()?.get()?;
        if filled[0] == MARK {
            good(address.is_multiple_of(16))?;
            filled[1] = address;
            return map.put(filled);
        }
        let words = std::array::from_fn(|n| (filled[n / 2] >> (32 * (n % 2))) as u32);
        let mut encoded = TensorMap::from_words(words);
        good(encoded.is_map() && address.is_multiple_of(encoded.address_unit()))?;
        encoded.set_address(address);
        map.put(in_pairs(encoded.words()))
    })
}
