//! Any bytes as a request: decoded, shown, encoded again to the same bytes. The fuzz target and a test call it.

use cutap_rm::{Device, Memory, Moment, Request, Tables};

const DEVICES: [Device; 6] =
    [Device::Control, Device::Gpu, Device::Uvm, Device::UvmTools, Device::Modeset, Device::Other];

/// The bytes that are left, again and again.
struct Rest<'a>(&'a [u8]);

impl Memory for Rest<'_> {
    fn read(&mut self, moment: Moment, address: u64, into: &mut [u8]) -> usize {
        let from = address as usize & 0xff;
        let from = from + usize::from(moment == Moment::After);
        let mut read = 0;
        for (to, byte) in into.iter_mut().zip(self.0.iter().cycle().skip(from).take(1 << 16)) {
            *to = *byte;
            read += 1;
        }
        read
    }
}

/// Release, device, request, length of the argument; argument before and after; memory.
pub(crate) fn request(input: &[u8]) {
    let Some((head, rest)) = input.split_first_chunk::<8>() else { return };
    let releases: Vec<Tables> = Tables::all().collect();
    let tables = releases[usize::from(head[0]) % releases.len()];
    let device = DEVICES[usize::from(head[1]) % DEVICES.len()];
    let request = u32::from_le_bytes([head[2], head[3], head[4], head[5]]);
    let length = usize::from(u16::from_le_bytes([head[6], head[7]]));
    let (before, rest) = rest.split_at(length.min(rest.len()));
    let (after, memory) = rest.split_at(before.len().min(rest.len()));
    let after = (after.len() == before.len()).then_some(after);
    let call = tables.decode(Request { device, request, before, after, result: Some(0) }, &mut Rest(memory));
    assert_eq!(call.encode(Moment::Before), before);
    assert_eq!(call.encode(Moment::After), after.unwrap_or(before));
    assert!(!call.to_string().is_empty());
    let _ = (call.buffers(Moment::Before), call.buffers(Moment::After));
}
