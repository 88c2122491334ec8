//! What libcuda 580.159.04 asked an H200 to do, from its own commands.

use cutap_rm::submit::{descriptor, method_name};
use cutap_rm::work::{Launch, Piece, Step, steps};

const DESCRIPTORS: &str = include_str!("../transcripts/qmd.txt");

fn header(kind: u32, count: u32, subchannel: u32, method: u32) -> u32 {
    kind << 29 | count << 16 | subchannel << 13 | method >> 2
}

/// The words of the grid's descriptor.
fn grid() -> Vec<u32> {
    let lines = DESCRIPTORS.lines().filter_map(|l| l.trim_start().strip_prefix("words: "));
    let words = lines.map(|l| l.split(' ').map(|w| u32::from_str_radix(w, 16).unwrap()).collect::<Vec<_>>());
    let is = |words: &Vec<u32>| descriptor(0xcbc0).unwrap().get(words, "QMD_TYPE") == Some(2);
    words.into_iter().find(is).unwrap()
}

fn expected(launch: &Launch) {
    assert!(launch.is_grid());
    assert_eq!((launch.grid, launch.block), ([256, 1, 1], [256, 1, 1]));
    assert_eq!((launch.registers, launch.shared, launch.program), (16, 0x400, 0x7fc3_177a_0000));
    assert_eq!(launch.constants[0], (0, 0x7fc3_1628_0000, 0x300));
    assert_eq!(launch.constants.iter().map(|c| c.0).collect::<Vec<_>>(), [0, 1, 5, 7]);
}

#[test]
fn a_launch_whose_descriptor_is_inline() {
    let descriptor = grid();
    let mut words = vec![header(1, 1, 1, 0), 0xcbc0];
    words.extend([header(1, 2, 1, 0x188), 2, 0x04e0_c000, header(1, 2, 1, 0x180), 0x180, 1]);
    words.extend([header(4, 0x41, 1, 0x1b0), header(3, descriptor.len() as u32, 1, 0x1b4)]);
    words.extend(&descriptor);
    words.extend([header(1, 1, 1, 0x2b4), 0x0204_e0c0, header(4, 10, 1, 0x2c0)]);
    let mut classes = [0; 8];
    let work = steps(&mut classes, &[Piece { address: 0, words: &words }], |_| None);
    let [Step::Write { to, length, .. }, Step::Launch(launch)] = &work.steps[..] else { panic!("{:?}", work.steps) };
    assert_eq!((*to, *length, launch.address, work.unknown), (0x2_04e0_c000, 0x180, 0x2_04e0_c000, 0));
    expected(launch);
    assert_eq!(classes[1], 0xcbc0);
}

#[test]
fn a_launch_whose_descriptor_is_in_memory() {
    let words = [header(1, 1, 1, 0x2b4), 0x0204_e0c0];
    let mut classes = [0, 0xcbc0, 0, 0, 0, 0, 0, 0];
    let work = steps(&mut classes, &[Piece { address: 0, words: &words }], |at| (at == 0x2_04e0_c000).then(grid));
    let [Step::Launch(launch)] = &work.steps[..] else { panic!("{:?}", work.steps) };
    expected(launch);
    let work = steps(&mut classes, &[Piece { address: 0, words: &words }], |_| None);
    let [Step::Launch(launch)] = &work.steps[..] else { panic!("{:?}", work.steps) };
    assert!(launch.words.is_empty() && !launch.is_grid());
}

#[test]
fn copies_fills_and_semaphores() {
    let mut classes = [0, 0, 0, 0, 0xc8b5, 0, 0, 0];
    let words = [
        header(1, 4, 4, 0x400),
        1,
        0x1000,
        2,
        0x2000,
        header(1, 1, 4, 0x418),
        4096,
        header(4, 0x182, 4, 0x300),
        header(1, 3, 4, 0x240),
        3,
        0x3000,
        9,
        header(4, 0x14, 4, 0x300),
        header(1, 3, 4, 0x700),
        5,
        0,
        0x0003_0004,
        header(4, 0x586, 4, 0x300),
        header(1, 5, 0, 0x5c),
        0x4000,
        4,
        6,
        0,
        1,
        header(1, 1, 0, 0x6c),
        0,
    ];
    let work = steps(&mut classes, &[Piece { address: 0, words: &words }], |_| None);
    let release = |address, payload, by| Step::Release { address, payload, by };
    assert_eq!(
        work.steps,
        [
            Step::Copy { from: 0x1_0000_1000, to: 0x2_0000_2000, bytes: 4096, lines: 1 },
            release(0x3_0000_3000, 9, "SET_SEMAPHORE"),
            Step::Fill { to: 0x2_0000_2000, count: 4096, lines: 1, element: 4, value: 5 },
            release(0x4_0000_4000, 6, "SEM_EXECUTE"),
            Step::Acquire { address: 0x4_0000_4000, payload: 6 },
        ]
    );
}

/// libcuda 580's `cuMemsetD32` of 1000 words on an H100: the data of an inline write come from a macro.
#[test]
fn macros_have_their_parameters() {
    let mut classes = [0, 0xcbc0, 0, 0, 0, 0, 0, 0];
    let words = [
        header(1, 4, 1, 0x180),
        0xfa0,
        1,
        0x7f7e,
        0x23e0_0000,
        header(4, 0x41, 1, 0x1b0),
        header(1, 2, 1, 0x3800),
        0x3e8,
        0x4d,
        header(1, 4, 1, 0x1b00),
        2,
        0x0460_fff0,
        0x54,
        0,
    ];
    let work = steps(&mut classes, &[Piece { address: 0, words: &words }], |_| None);
    assert_eq!(
        work.steps,
        [
            Step::Write { to: 0x7f7e_23e0_0000, bytes: vec![], length: 4000 },
            Step::Macro { number: 0, words: vec![0x3e8, 0x4d] },
            Step::Release { address: 0x2_0460_fff0, payload: 0x54, by: "SET_REPORT_SEMAPHORE" },
        ]
    );
    // The arrays of macros and of their data alternate.
    let names = [0x37fc, 0x3800, 0x3804, 0x3808, 0x380c].map(|at| method_name(0xcbc0, at).unwrap());
    let of = [
        ("SET_MME_SHADOW_SCRATCH", Some(255)),
        ("CALL_MME_MACRO", Some(0)),
        ("CALL_MME_DATA", Some(0)),
        ("CALL_MME_MACRO", Some(1)),
        ("CALL_MME_DATA", Some(1)),
    ];
    assert_eq!(names, of);
}

/// Any words are taken.
#[test]
fn any_words() {
    let mut random = fastrand::Rng::with_seed(1);
    let mut next = || random.u32(..);
    for _ in 0..2000 {
        let words: Vec<u32> = (0..next() % 64).map(|_| next()).collect();
        let mut classes = [0xcbc0, next(), 0xc8b5, 0xc6c0, 0xcdc0, 0, next() & 0xffff, 0xcec0];
        let read = words.clone();
        steps(&mut classes, &[Piece { address: 0, words: &words }], |_| Some(read.clone()));
    }
}
