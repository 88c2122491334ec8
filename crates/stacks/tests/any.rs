//! Whatever a stack holds, unwinding it ends, without a panic: with the real tables of this very program and its
//! libraries, and any registers and bytes, many of which lead into their code.

use cutap_stacks::{Files, Loaded, Object, Of, Raw, Stacks};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// What this process has loaded: first and last byte of each file, and its path.
fn loaded() -> BTreeMap<String, (u64, u64)> {
    let mut all = BTreeMap::new();
    for line in std::fs::read_to_string("/proc/self/maps").expect("maps").lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (Some((from, to)), Some(path)) = (words[0].split_once('-'), words.get(5).filter(|p| p.starts_with('/')))
        else {
            continue;
        };
        let number = |text: &str| u64::from_str_radix(text, 16).expect("an address");
        let span = all.entry(path.to_string()).or_insert((number(from), 0));
        span.1 = number(to);
    }
    all
}

fn stacks() -> (Stacks, Vec<(u64, u64)>) {
    let (mut stacks, mut spans) = (Stacks::default(), Vec::new());
    for (n, (path, (from, to))) in (1..).zip(loaded()) {
        let name = path.rsplit('/').next().unwrap().into();
        stacks.map.object(n, Object { name, path: path.into(), from, bytes: to - from });
        stacks.map.loaded(Loaded { ticks: 0, object: n, bias: from, identity_kind: 0, identity: Box::default() });
        spans.push((from, to));
    }
    (stacks, spans)
}

type Shared = (Stacks, Vec<(u64, u64)>, Files);

const OF: Of = Of { pid: u32::MAX, start_unix_ns: u64::MAX };
const STACK: u64 = 0x7ffd_0000_0000;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn any_stack(
        seeds in prop::collection::vec((0..4u8, any::<u64>()), 0..400),
        registers in any::<[u64; 8]>(),
        aim in any::<[u8; 8]>(),
        inside in any::<bool>(),
    ) {
        thread_local!(static SHARED: std::cell::RefCell<Shared> = {
            let (stacks, spans) = stacks();
            std::cell::RefCell::new((stacks, spans, Files::default()))
        });
        SHARED.with_borrow_mut(|(stacks, spans, files)| {
            let code = |seed: u64| {
                let (from, to) = spans[seed as usize % spans.len()];
                from + (seed >> 8) % (to - from)
            };
            // Addresses of code, of the stack, and of nothing.
            let value = |kind: u8, seed: u64| match kind {
                0 | 1 => code(seed),
                2 => STACK + seed % 4096,
                _ => seed,
            };
            let mut all = registers;
            for (register, kind) in all.iter_mut().zip(aim) {
                *register = value(kind % 4, *register);
            }
            (all[0], all[1]) = (code(registers[0]), STACK);
            let mut raw = Raw::new(all);
            let bytes: Vec<u8> = seeds.iter().flat_map(|(kind, seed)| value(*kind, *seed).to_le_bytes()).collect();
            raw.add(STACK, &bytes);
            let stack = stacks.unwind(files, &raw, 1, OF, inside);
            assert!(stack.frames.len() < 100_000);
            // An address is named the same each time.
            assert_eq!(stacks.unwind(files, &raw, 1, OF, inside), stack);
        });
    }
}

#[test]
fn pieces_that_do_not_follow_are_left_out() {
    let mut raw = Raw::new([0, STACK, 0, 0, 0, 0, 0, 0]);
    raw.add(STACK, &[1; 16]);
    raw.add(STACK + 24, &[2; 8]);
    raw.add(STACK + 16, &[3; 8]);
    assert_eq!(raw.bytes(), [[1; 16].as_slice(), &[3; 8]].concat());
    raw.add(u64::MAX, &[4; 8]);
    raw.add(STACK + 24, &vec![0; 2 << 20]);
    assert_eq!(raw.bytes().len(), 24);
}
