//! Where each field of a launch descriptor is, by version. Positions are those that NVIDIA publishes in
//! `clc6c0qmd.h`, `clc9c0qmd.h`, `clcbc0qmd.h` and `clcdc0qmd.h`. Only version 4.0 has run.

/// Highest and lowest bit.
pub(crate) type Bits = (usize, usize);

/// The fields of a word that the GPU writes at the end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ReleaseFields {
    pub enable: Bits,
    pub size: Bits,
    pub low: Bits,
    pub high: Bits,
    pub payload: Bits,
}

/// One version of the descriptor.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Format {
    pub words: usize,
    pub major: u32,
    pub major_at: Bits,
    /// The kind of descriptor, in versions that have it.
    pub kind: Option<Bits>,
    pub api_call_limit: Bits,
    pub sampler_index: Bits,
    pub sass_version: Bits,
    /// Caches: texture headers, samplers, texture data, shader data, instructions, constants.
    pub invalidate: Bits,
    pub membar: Bits,
    pub registers: Bits,
    pub barriers: Bits,
    /// The program's address: low and high part, and how far it is shifted right.
    pub program: (Bits, Bits, u32),
    /// Sizes, and how far they are shifted right.
    pub local: (Bits, u32),
    pub shared: (Bits, u32),
    /// Codes of the carve-out: least, target, most.
    pub carve_out: [Bits; 3],
    pub grid: [Bits; 3],
    pub block: [Bits; 3],
    pub release: [ReleaseFields; 2],
    /// Constant bank 0: low and high part of its address, and its size in units of 16. Each next bank is 64 bits on.
    pub bank: [Bits; 3],
    /// How far a bank's address is shifted right.
    pub bank_shift: u32,
    /// The bit that says that bank 0 is valid, and the distance to the next bank's.
    pub bank_valid: (usize, usize),
    /// How a grid is marked whose blocks must run together: its group of descriptors, and its size.
    pub cooperative: Option<(Bits, [Bits; 3])>,
    /// The sides of a cluster, in blocks.
    pub cluster: Option<[Bits; 3]>,
    /// KiB of shared memory that an SM can be set to.
    pub carve_outs: &'static [u32],
}

const fn release(enable: usize, size: Bits, low: usize, high: Bits, payload: usize) -> ReleaseFields {
    ReleaseFields { enable: (enable, enable), size, low: (low + 31, low), high, payload: (payload + 31, payload) }
}

/// Ampere and Ada.
pub(crate) const V3: Format = Format {
    words: 64,
    major: 3,
    major_at: (583, 580),
    kind: None,
    api_call_limit: (378, 378),
    sampler_index: (382, 382),
    sass_version: (1663, 1656),
    invalidate: (191, 186),
    membar: (369, 368),
    registers: (656, 648),
    barriers: (767, 763),
    program: ((1567, 1536), (1584, 1568), 0),
    local: ((1623, 1600), 0),
    shared: ((561, 544), 0),
    carve_out: [(567, 562), (662, 657), (574, 569)],
    grid: [(415, 384), (431, 416), (463, 448)],
    block: [(607, 592), (623, 608), (639, 624)],
    release: [release(823, (831, 830), 768, (807, 800), 832), release(951, (959, 958), 896, (935, 928), 960)],
    bank: [(1055, 1024), (1072, 1056), (1087, 1075)],
    bank_shift: 0,
    bank_valid: (640, 1),
    cooperative: None,
    cluster: None,
    carve_outs: &[8, 16, 32, 64, 100, 132, 164],
};

/// Hopper.
pub(crate) const V4: Format = Format {
    words: 96,
    major: 4,
    major_at: (583, 580),
    kind: Some((25, 23)),
    api_call_limit: (568, 568),
    sampler_index: (569, 569),
    sass_version: (543, 536),
    invalidate: (607, 602),
    membar: (1137, 1136),
    registers: (1208, 1200),
    barriers: (1215, 1211),
    program: ((1247, 1216), (1272, 1248), 0),
    local: ((567, 544), 0),
    shared: ((601, 584), 0),
    carve_out: [(613, 608), (625, 620), (619, 614)],
    grid: [(1055, 1024), (1071, 1056), (1103, 1088)],
    block: [(1167, 1152), (1183, 1168), (1199, 1184)],
    release: [release(320, (322, 321), 640, (696, 672), 704), release(336, (338, 337), 768, (824, 800), 832)],
    bank: [(1567, 1536), (1586, 1568), (1599, 1587)],
    bank_shift: 6,
    bank_valid: (416, 4),
    cooperative: Some(((21, 16), [(2223, 2208), (2239, 2224), (2255, 2240)])),
    cluster: Some([(2149, 2144), (2157, 2152), (2165, 2160)]),
    carve_outs: &[8, 16, 32, 64, 100, 132, 164, 196, 228],
};

/// Blackwell.
pub(crate) const V5: Format = Format {
    words: 96,
    major: 5,
    major_at: (471, 468),
    kind: Some((153, 151)),
    api_call_limit: (456, 456),
    sampler_index: (457, 457),
    sass_version: (455, 448),
    invalidate: (477, 472),
    membar: (625, 624),
    registers: (1136, 1128),
    barriers: (1141, 1137),
    program: ((1055, 1024), (1076, 1056), 4),
    local: ((1215, 1200), 4),
    shared: ((1162, 1152), 7),
    carve_out: [(1168, 1163), (1180, 1175), (1174, 1169)],
    grid: [(1279, 1248), (1295, 1280), (1327, 1312)],
    block: [(1103, 1088), (1119, 1104), (1127, 1120)],
    release: [release(288, (290, 289), 480, (536, 512), 544), release(304, (306, 305), 768, (824, 800), 832)],
    bank: [(1375, 1344), (1394, 1376), (1407, 1395)],
    bank_shift: 6,
    bank_valid: (1856, 4),
    cooperative: None,
    cluster: None,
    carve_outs: &[8, 16, 32, 64, 100, 132, 164, 196, 228],
};
