//! What real programs sent to driver 580.159.04, decoded by the tables.

use crate::transcript::{self, Entry};
use cutap_rm::{Call, Device, Fit, Moment, Remark, Tables};
use std::collections::BTreeSet;

/// The controls that libcuda sends and no header names.
const OF_LIBCUDA: [u32; 4] = [0x2080_8159, 0x2080_8162, 0x2080_9038, 0x2081_0108];
/// Those that NVML sends too, which PyTorch loads.
const OF_NVML: [u32; 5] = [0x2080_9001, 0x2080_9009, 0x2080_9064, 0x2080_a026, 0x2080_a084];

fn tables() -> Tables {
    Tables::select("580.159.04").unwrap().tables
}

fn decode(entry: &mut Entry) -> Call {
    let mut memory = std::mem::take(&mut entry.memory);
    let call = tables().decode(entry.request(), &mut memory);
    entry.memory = memory;
    call
}

/// Decodes all; gives the ids that no table names. Any other remark is an error, so is a status that no table names.
fn unknown(name: &str, requests: usize) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    let mut entries = transcript::read(name);
    assert_eq!(entries.len(), requests);
    for (n, entry) in entries.iter_mut().enumerate() {
        let call = decode(entry);
        for remark in &call.remarks {
            match remark {
                Remark::UnknownControl(id) => drop(found.insert(*id)),
                other => panic!("{name} {n}: {other}: {call}"),
            }
        }
        assert!(!call.name.is_empty(), "{name} {n}: {call}");
        let status = call.status().map(|s| s.name);
        assert!(status != Some(None), "{name} {n}: {call}");
        assert!(!call.to_string().contains("further bytes"), "{call}");
    }
    found
}

#[test]
fn a_vector_add_has_four_unknown_ids() {
    assert_eq!(Tables::select("580.159.04").unwrap().fit, Fit::SameBranch);
    assert_eq!(unknown("vecadd", 466), OF_LIBCUDA.into());
}

#[test]
fn other_calls_of_libcuda_have_no_more() {
    assert_eq!(unknown("more", 737), OF_LIBCUDA.into());
}

#[test]
fn pytorch_has_those_of_nvml_too() {
    assert_eq!(unknown("pytorch", 557), OF_LIBCUDA.into_iter().chain(OF_NVML).collect());
}

/// Every control that nvidia-smi sends has the table's size, or no table has it; those are opaque to the open driver.
#[test]
fn nvidia_smi_controls() {
    let path = format!("{}/tests/transcripts/nvidia-smi-controls.txt", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let (mut named, mut unnamed) = (0, BTreeSet::new());
    for line in text.lines().filter(|l| !l.starts_with('#')) {
        let words: Vec<&str> = line.split(' ').collect();
        let (id, size) = (u32::from_str_radix(words[0], 16).unwrap(), words[1].parse::<usize>().unwrap());
        match tables().control(id) {
            Some(control) => {
                assert_eq!(control.size(), size, "{control:?}");
                named += 1;
            }
            None => drop(unnamed.insert(id)),
        }
    }
    assert_eq!(named, 51);
    // Bit 15 or class 0x2081: sent on to the GSP unseen. 0x20803406 is neither.
    let seen: Vec<u32> = unnamed.into_iter().filter(|id| id & 0x8000 == 0 && id >> 16 != 0x2081).collect();
    assert_eq!(seen, [0x2080_3406]);
}

#[test]
fn decode_then_encode_gives_the_same_bytes() {
    for name in ["vecadd", "more", "pytorch"] {
        for entry in &mut transcript::read(name) {
            let call = decode(entry);
            assert_eq!(call.encode(Moment::Before), entry.before, "{call}");
            assert_eq!(call.encode(Moment::After), entry.after, "{call}");
            for (address, bytes) in call.buffers(Moment::Before) {
                let kept = entry.memory.all.iter().find(|f| f.0 == address).unwrap();
                assert_eq!(bytes, kept.1, "{call}");
            }
            for (address, bytes) in call.buffers(Moment::After) {
                let kept = entry.memory.all.iter().find(|f| f.0 == address).unwrap();
                assert_eq!(Some(bytes), kept.2, "{call}");
            }
        }
    }
}

#[test]
fn requests_that_the_kernel_rewrites_have_both() {
    let mut entries = transcript::read("vecadd");
    let root = decode(&mut entries[2]);
    assert_eq!(root.name, "NV_ESC_RM_ALLOC");
    let class = root.argument.get("hClass").unwrap();
    assert_eq!((class.number(Moment::Before), class.number(Moment::After)), (Some(0), Some(0x41)));
    // It has no parameters, and a class.
    assert_eq!(root.subject_name(), "NV01_ROOT");
}

#[test]
fn memory_behind_pointers_has_names() {
    let mut entries = transcript::read("vecadd");
    let calls: Vec<Call> = entries.iter_mut().map(decode).collect();
    let version = calls.iter().find(|c| c.subject_name() == "NV0000_CTRL_CMD_SYSTEM_GET_BUILD_VERSION").unwrap();
    assert!(version.to_string().contains("pDriverVersionBuffer: 0x7ffdf806dde0 \"580.159.04\""), "{version}");
    let info = calls.iter().find(|c| c.subject_name() == "NV2080_CTRL_CMD_GR_GET_INFO").unwrap();
    let list = info.argument.get("params.*.grInfoList.*").unwrap();
    assert_eq!(list.children().len(), 58);
    assert_eq!(info.argument.get("params.*.grInfoList.*[5].index").unwrap().number(Moment::After), Some(5));
    let channel = calls.iter().find(|c| c.subject_name() == "HOPPER_CHANNEL_GPFIFO_A").unwrap();
    assert_eq!(channel.argument.get("pAllocParms.*.gpFifoEntries").unwrap().number(Moment::Before), Some(1024));
    let registered = calls.iter().find(|c| c.name == "UVM_REGISTER_CHANNEL").unwrap();
    assert_eq!((registered.device, registered.status().unwrap().name), (Device::Uvm, Some("NV_OK")));
}
