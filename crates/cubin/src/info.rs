//! `.nv.info`: attributes of kernels, as a list of format, number and value.

/// One attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Attribute<'a> {
    pub number: u8,
    /// The two bytes behind the number: a value, or the length of `data`.
    pub half: u16,
    pub data: &'a [u8],
}

/// Attributes that decide a launch.
pub(crate) const FRAME_SIZE: u8 = 0x11;
pub(crate) const MIN_STACK_SIZE: u8 = 0x12;
pub(crate) const PARAMETER: u8 = 0x17;
pub(crate) const PARAMETERS_SIZE: u8 = 0x19;
pub(crate) const PARAMETERS_PLACE: u8 = 0x0a;
pub(crate) const MAX_THREADS: u8 = 0x05;
pub(crate) const REGISTERS: u8 = 0x2f;
pub(crate) const PARAMETER_V2: u8 = 0x45;
pub(crate) const BARRIERS: u8 = 0x4c;
pub(crate) const CLUSTER: u8 = 0x3d;

/// All attributes; ends where the bytes end early.
pub(crate) fn attributes(bytes: &[u8]) -> impl Iterator<Item = Attribute<'_>> {
    const SIZED: u8 = 4;
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let (&[format, number, low, high], tail) = rest.split_first_chunk::<4>()?;
        let half = u16::from_le_bytes([low, high]);
        let (data, tail) = tail.split_at_checked(if format == SIZED { half.into() } else { 0 })?;
        rest = tail;
        Some(Attribute { number, half, data })
    })
}

impl Attribute<'_> {
    /// A word of its data.
    pub fn word(&self, at: usize) -> Option<u32> {
        let bytes = self.data.get(at * 4..)?.first_chunk::<4>()?;
        Some(u32::from_le_bytes(*bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_and_a_truncated_end() {
        let bytes = [4, 0x2f, 8, 0, 7, 0, 0, 0, 12, 0, 0, 0, 3, 0x19, 28, 0, 2, 0x4c, 1, 0, 4, 0x11, 8, 0, 1];
        let found: Vec<_> = attributes(&bytes).map(|a| (a.number, a.half, a.word(1))).collect();
        assert_eq!(found, [(0x2f, 8, Some(12)), (0x19, 28, None), (0x4c, 1, None)]);
    }
}
