//! Two releases and two runs of real programs.

use cutap_kernel::decode::Decoder;
use cutap_kernel::diff::{Used, release, runs, tables};
use cutap_kernel::select::Select;
use cutap_kernel::show::text::{Style, Text};
use cutap_kernel::{Action, Run, formats};
use std::path::Path;

fn run(name: &str) -> Run {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../rm/tests/transcripts/{name}.txt"));
    formats::read_file(&path).unwrap()
}

fn decoder(run: &Run) -> Decoder {
    Decoder::new(Some("580.159.04"), run).unwrap()
}

/// Facts of shared/research/kernel-layer.md section 2, measured by other means.
#[test]
fn two_releases() {
    let (old, new) = (release("570").unwrap(), release("580").unwrap());
    let all = tables::differences(old, new, None);
    let text = tables::text(old, new, &all);
    assert!(text.starts_with("570.211.01 -> 580.142\n"), "{text}");
    // UVM: 575 removes number 36, 580 adds number 80.
    assert!(text.contains("  + 0x50 UVM_DISCARD ("), "{text}");
    assert!(text.contains("  - 0x24 UVM_"), "{text}");
    // GPFIFO_SCHEDULE and NV_VASPACE grew in 575 and 580.
    assert!(text.contains("~ NVA06F_CTRL_GPFIFO_SCHEDULE_PARAMS: 2 -> 3 bytes; "), "{text}");
    assert!(text.contains("~ NV_VASPACE_ALLOCATION_PARAMETERS: 48 -> 56 bytes; pasid added at 48 "), "{text}");
    assert!(text.contains("~ NVOS46_PARAMETERS: "), "{text}");
    let json = tables::json(old, new, &all);
    assert_eq!(json.lines().count(), all.len() + 1);
    assert_eq!(tables::differences(new, new, None), []);
    assert!(release("999").unwrap_err().0.contains("give one of 256.35, 535."));
}

#[test]
fn limited_to_a_run() {
    let (old, new) = (release("570").unwrap(), release("580").unwrap());
    let run = run("vecadd");
    let used = Used::of(&run, &decoder(&run));
    assert!(used.classes.contains(&0xc86f) && used.controls.contains(&0xa06c_0101));
    let (all, some) = (tables::differences(old, new, None), tables::differences(old, new, Some(&used)));
    assert!(!some.is_empty() && some.len() * 5 < all.len(), "{} of {}", some.len(), all.len());
    assert!(some.iter().any(|c| c.name == "NV_VASPACE_ALLOCATION_PARAMETERS"), "{some:?}");
    assert!(some.iter().all(|c| all.iter().any(|a| a.kind == c.kind && a.name == c.name)), "{some:?}");
}

#[test]
fn a_run_equals_itself_with_other_handles() {
    let first = run("vecadd");
    let mut second = first.clone();
    // The client of the run is c1d00023; another process has another one.
    let other = |bytes: &mut Vec<u8>| {
        for word in bytes.chunks_exact_mut(4).filter(|w| *w == [0x23, 0, 0xd0, 0xc1]) {
            word.copy_from_slice(&[0x77, 0, 0xd0, 0xc1]);
        }
    };
    for call in &mut second.calls {
        let Action::Ioctl(ioctl) = &mut call.action else { continue };
        ioctl.before.iter_mut().chain(ioctl.after.as_mut()).for_each(other);
        for piece in &mut ioctl.memory {
            other(&mut piece.before);
            piece.after.iter_mut().for_each(other);
        }
    }
    assert_ne!(first.calls, second.calls);
    let decoder = decoder(&first);
    let same = runs::compare((&first, &decoder), (&second, &decoder)).unwrap();
    // A handle in a field that no header marks as one would differ.
    assert_eq!((same.calls, same.equal), ([466, 466], 466), "{}", runs::text(&same));
}

/// Headers declare some handles as plain numbers: in UVM commands, in lists, the owner of memory.
#[test]
fn handles_that_are_plain_numbers() {
    let run = run("vecadd");
    let decoder = decoder(&run);
    let style = Style { verbose: true, ..Style::default() };
    let mut text = Text::new(style);
    let lines: Vec<String> = run.calls.iter().map(|call| text.line(call, &decoder)).collect();
    let first = |name: &str| lines.iter().find(|line| line.contains(name)).unwrap();
    assert!(first("UVM_MAP_EXTERNAL_ALLOCATION").contains("hMemory: 0x5c00"), "{}", first("UVM_MAP_EXTERNAL"));
    assert!(first("UVM_REGISTER_GPU ").contains("uuid: "), "{}", first("UVM_REGISTER_GPU "));
    assert!(!first("UVM_REGISTER_GPU ").contains("uuid: ["), "{}", first("UVM_REGISTER_GPU "));
    assert!(first("GET_CHANNELLIST").contains("pChannelHandleList: 0x"), "{}", first("GET_CHANNELLIST"));
    assert!(first("GET_CHANNELLIST").contains(" [0x5c00"), "{}", first("GET_CHANNELLIST"));
    assert!(first("NV_ESC_RM_ALLOC NV01_MEMORY_SYSTEM ").contains("owner: 0x"));
    let memory = first("NV_ESC_RM_ALLOC_MEMORY");
    assert!(memory.contains("NV_ESC_RM_ALLOC_MEMORY NV01_MEMORY_SYSTEM_OS_DESCRIPTOR {"), "{memory}");
    // USERD is in a list of eight handles.
    let channel = run.calls.iter().find(|call| text.line(call, &decoder).contains("HOPPER_CHANNEL_GPFIFO_A")).unwrap();
    let line = text.line(channel, &decoder);
    let (_, userd) = line.split_once("hUserdMemory: [0x").unwrap();
    let userd = u32::from_str_radix(userd.split(',').next().unwrap(), 16).unwrap();
    assert!(Select { objects: vec![userd], ..Select::default() }.matches(channel, &decoder), "{line}");
}

#[test]
fn what_differs() {
    let first = run("vecadd");
    let mut second = first.clone();
    second.calls.remove(10);
    let copy = second.calls[20].clone();
    second.calls.insert(30, copy);
    let Action::Ioctl(ioctl) = &mut second.calls[0].action else { panic!() };
    ioctl.before.as_mut().unwrap()[0] = 7;
    let decoder = decoder(&first);
    let found = runs::compare((&first, &decoder), (&second, &decoder)).unwrap();
    let text = runs::text(&found);
    assert!(text.contains(" 1 only in the first, 1 only in the second\n"), "{text}");
    assert!(
        text.contains("\n~ 1/1: /dev/nvidiactl NV_ESC_SYS_PARAMS\n      memblock_size: 0x40000000 | 0x40000007\n"),
        "{text}"
    );
    assert_eq!(runs::json(&found).lines().count(), found.differences.len() + 1);
}
