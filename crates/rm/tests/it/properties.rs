//! Arbitrary bytes: nothing panics, what is decoded encodes to the same bytes, what is written is read back.

use cutap_rm::{Device, Error, Field, Memory, Moment, Params, Place, Record, Request, Tables, escape_request};
use proptest::prelude::*;

/// Memory that is full of bytes, and ends somewhere.
struct Noise {
    seed: u64,
    length: usize,
}

impl Memory for Noise {
    fn read(&mut self, moment: Moment, address: u64, into: &mut [u8]) -> usize {
        let mut state = self.seed ^ address ^ if moment == Moment::After { 1 } else { 0 };
        let length = into.len().min(self.length);
        for byte in &mut into[..length] {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *byte = (state >> 56) as u8;
        }
        length
    }
}

fn release() -> impl Strategy<Value = Tables> {
    proptest::sample::select(Tables::all().collect::<Vec<_>>())
}

/// A request, mostly one that the tables know, and its length.
fn request(tables: Tables) -> impl Strategy<Value = (Device, u32, usize)> {
    let escapes: Vec<_> = tables.escapes().map(|e| (e.number() as u8, e.params(0).map_or(8, Record::size))).collect();
    let mut uvm: Vec<_> = tables.uvm_commands().map(|u| (u.number(), u.size())).collect();
    // The interface of 2010 has none.
    uvm.push((0, 8));
    prop_oneof![
        4 => (proptest::sample::select(escapes), 0..3_usize).prop_map(|((number, size), way)| {
            let sent = [size, size, 48][way];
            (Device::Control, escape_request(number, sent), sent)
        }),
        2 => proptest::sample::select(uvm).prop_map(|(number, size)| (Device::Uvm, number, size)),
        1 => (any::<u32>(), 0..200_usize).prop_map(|(request, size)| (Device::Gpu, request, size)),
        1 => (any::<u32>(), 0..200_usize).prop_map(|(request, size)| (Device::Modeset, request, size)),
    ]
}

/// Numbers that lead somewhere: a control or class in the right place, and a size that may be the right one.
fn aim(tables: Tables, request: u32, bytes: &mut [u8], pick: usize, fitting: bool) {
    let mut put = |at: usize, value: u32| {
        if let Some(to) = bytes.get_mut(at..at + 4) {
            to.copy_from_slice(&value.to_le_bytes());
        }
    };
    match request & 0xff {
        0x2a => {
            let control = tables.controls().nth(pick % tables.controls().count()).unwrap();
            put(8, control.number());
            put(24, if fitting { control.size() as u32 } else { pick as u32 & 0xfff });
        }
        0x2b => {
            let class = tables.classes().nth(pick % tables.classes().count()).unwrap();
            put(12, class.number());
            put(32, if fitting { 0 } else { pick as u32 & 0xfff });
        }
        0xd3 => put(0, pick as u32 & 0xff),
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn decode_then_encode(
        (tables, (device, request, size)) in release().prop_flat_map(|t| (Just(t), request(t))),
        seed in any::<u64>(), pick in any::<usize>(), fitting in any::<bool>(), cut in 0..4_usize, after in any::<bool>(),
    ) {
        let mut noise = Noise { seed, length: if cut == 3 { pick % 300 } else { usize::MAX } };
        // A UVM argument of a tracer that copies too much or too little.
        let size = match cut { 0 => size / 2, 1 => size + 7, _ => size };
        let (mut before, mut changed) = (vec![0; size], vec![0; size]);
        noise.length = noise.length.max(1);
        noise.read(Moment::Before, 1, &mut before);
        noise.read(Moment::After, 1, &mut changed);
        aim(tables, request, &mut before, pick, fitting);
        let after = after.then_some(&changed[..]);
        let call = tables.decode(Request { device, request, before: &before, after, result: Some(0) }, &mut noise);
        prop_assert_eq!(call.encode(Moment::Before), &before[..]);
        prop_assert_eq!(call.encode(Moment::After), after.unwrap_or(&before));
        for moment in [Moment::Before, Moment::After] {
            for (address, bytes) in call.buffers(moment) {
                let mut kept = vec![0; bytes.len()];
                let moment = if after.is_some() { moment } else { Moment::Before };
                noise.read(moment, address, &mut kept);
                prop_assert_eq!(bytes, kept);
            }
        }
        // Whatever is in it, a line of text.
        prop_assert!(!call.to_string().is_empty());
    }

    #[test]
    fn paths_never_panic(tables in release(), path in "[a-zA-Z_.\\[\\]0-9*]{0,24}", record in "[A-Z0-9_]{0,20}", value in any::<u64>()) {
        prop_assert!(tables.place(&record, &path).is_err() || tables.record(&record).is_some());
        for name in ["NV_CHANNEL_ALLOC_PARAMS", "UVM_MAP_EXTERNAL_ALLOCATION_PARAMS", "NVOS32_PARAMETERS"] {
            if let Ok(place) = tables.place(name, &path) {
                let _ = place.put(&mut [0; 16], value);
            }
        }
    }
}

/// Every number of every struct of every release can be set by name and read back, and touches only its own bits.
#[test]
fn every_field_can_be_written() {
    let mut written = 0_u64;
    for tables in Tables::all() {
        for (name, record) in tables.records() {
            let mut params = Params::new(tables, name).unwrap();
            for field in record.fields() {
                let mut path = field.name().to_owned();
                path.extend(field.counts().map(|n| format!("[{}]", n.saturating_sub(1))));
                written += u64::from(write(&mut params, field, &path));
            }
        }
    }
    assert!(written > 70_000, "{written}");
}

fn write(params: &mut Params, field: Field, path: &str) -> bool {
    if field.record().is_some() || field.counts().any(|n| n == 0) {
        return false;
    }
    let place: Place = params.record().place(path).unwrap();
    assert!(place.is_number, "{path}");
    let width = place.bits.map_or(place.form.size() as u32 * 8, |(_, bits)| bits);
    let most = if width == 64 { u64::MAX } else { (1 << width) - 1 };
    params.bytes_mut().fill(0);
    params.set(path, most).unwrap();
    assert_eq!(params.bytes().iter().map(|b| b.count_ones()).sum::<u32>(), width, "{path}");
    let read = params.get(path).unwrap();
    assert_eq!(read & most, most, "{path}");
    assert_eq!(read, if place.form.is_signed() { u64::MAX } else { most }, "{path}");
    if width < 64 && !place.form.is_signed() {
        assert_eq!(params.set(path, most + 1).err(), Some(Error::TooLarge), "{path}");
    }
    params.bytes_mut().fill(0xff);
    params.set(path, 0).unwrap();
    assert_eq!(params.bytes().iter().map(|b| b.count_zeros()).sum::<u32>(), width, "{path}");
    true
}
