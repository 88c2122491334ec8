//! Any bytes as a request: decoded, shown, encoded again to the same bytes. Any bytes as the commands of a channel. The
//! fuzz targets and a test call these functions.

use cutap_rm::submit::{Entry, Stream, class_of_methods, descriptor, method_name};
use cutap_rm::work::{Launch, Piece, Step, steps};
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

/// Classes of a subchannel: compute, copy, host, one that no table has.
const CLASSES: [u32; 16] = [
    0xc0c0, 0xc3c0, 0xc5c0, 0xc6c0, 0xc7c0, 0xc9c0, 0xcbc0, 0xcdc0, 0xcec0, 0xc6b5, 0xc8b5, 0xc9b5, 0xcab5, 0xc56f, 0,
    0xffff,
];
/// Words of one look; the layer `submit` reads at most 64 Ki of them.
const MOST: usize = 1 << 14;

/// One byte for each subchannel, lengths of two pieces and of a descriptor, the words of the three.
pub(crate) fn commands(input: &[u8]) {
    let Some((head, rest)) = input.split_first_chunk::<14>() else { return };
    let mut classes = [0_u32; 8];
    for (class, byte) in classes.iter_mut().zip(head) {
        *class = CLASSES[usize::from(*byte) % CLASSES.len()];
    }
    let all: Vec<u32> = rest.as_chunks::<4>().0.iter().take(MOST).map(|word| u32::from_le_bytes(*word)).collect();
    let length = |at: usize| usize::from(u16::from_le_bytes([head[at], head[at + 1]]));
    let (first, left) = all.split_at(length(8).min(all.len()));
    let (second, left) = left.split_at(length(10).min(left.len()));
    let kept = left.split_at(length(12).min(left.len())).0;

    let pieces = [Piece { address: 0x2_0080_0000, words: first }, Piece { address: 0x2_0080_4000, words: second }];
    let mut streams = 0;
    for piece in pieces {
        let mut stream = Stream::new(piece.words);
        for method in stream.by_ref() {
            assert!(method.place < piece.words.len() && method.subchannel < 8);
            let class = classes[usize::from(method.subchannel)];
            let named = class_of_methods(class).and_then(|own| own.name(method.address));
            assert!(named.is_none() || named == method_name(class, method.address));
            streams += 1;
        }
        assert!(stream.unknown() <= piece.words.len());
    }
    let work = steps(&mut classes.clone(), &pieces, |at| (at & 0x100 == 0).then(|| kept.to_vec()));
    assert_eq!(work.methods, streams);
    assert!(work.steps.len() <= 2 * work.methods + 8);
    for step in &work.steps {
        match step {
            Step::Launch(launch) => fields(launch),
            Step::Write { bytes, length, .. } => assert!(bytes.len() as u64 <= *length),
            _ => {}
        }
    }
    classes.iter().for_each(|class| fields(&Launch::of(*class, 0, kept.to_vec())));
    for pair in all.as_chunks::<2>().0.iter().take(64) {
        let entry = Entry::of(u64::from(pair[0]) | u64::from(pair[1]) << 32);
        assert_eq!(Entry::of(entry.word()), entry);
    }
}

/// The fields of a descriptor lie inside its words, and the launch has their values.
fn fields(launch: &Launch) {
    let Some(layout) = descriptor(launch.class) else { return };
    for field in layout.fields(&launch.words) {
        let (low, high) = field.bits;
        assert!(low <= high && ((high / 32) as usize) < launch.words.len(), "{field:?}");
        assert!(high - low >= 63 || field.value >> (high - low + 1) == 0, "{field:?}");
        if field.element.is_none() {
            assert_eq!(layout.get(&launch.words, field.name), Some(field.value), "{field:?}");
        }
    }
    assert!(launch.constants.len() <= 8);
}
