//! Tensor maps. Arguments are checked as the driver checks them. The result contains them, but not in the format of a
//! GPU, because no GPU reads it.

use crate::abi::{Answer, Fault, In, Out, answer};
use crate::engine::refused;

/// CUtensorMap
type Map = [u64; 16];
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

/// Why GPUs lack it.
const NO_FORMAT: &str = "tensor maps are not encoded";

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
        refused::on_gpus("cuTensorMapEncodeTiled", NO_FORMAT)?;
        map.check()?;
        let modes = [interleave, swizzle, promotion, fill];
        let filled = Tensor { kind, rank, address, sides, strides, steps, modes }.check(1)?;
        for n in 0..rank as usize {
            good((1..=256).contains(&boxes.get_at(n)?))?;
        }
        map.put(filled)
    })
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
        refused::on_gpus("cuTensorMapEncodeIm2col", NO_FORMAT)?;
        map.check()?;
        let modes = [interleave, swizzle, promotion, fill];
        let filled = Tensor { kind, rank, address, sides, strides, steps, modes }.check(3)?;
        good(!lower.is_null() && !upper.is_null() && channels <= 256 && pixels <= 1024)?;
        map.put(filled)
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
        refused::on_gpus("cuTensorMapEncodeIm2colWide", NO_FORMAT)?;
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
        good(filled[0] == MARK && address.is_multiple_of(16))?;
        filled[1] = address;
        map.put(filled)
    })
}
