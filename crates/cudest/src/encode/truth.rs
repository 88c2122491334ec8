//! Launches of libcuda 580.159.04 on an H100, recorded by `cutap record -e driver,submit` and reduced by
//! `tests/truth/launches.py`.

use super::qmd::Dim3;

/// One launch, and the bytes that libcuda made of it.
#[derive(Debug)]
pub(crate) struct Truth {
    pub name: String,
    pub grid: Dim3,
    pub block: Dim3,
    /// The sides, if the launch names them.
    pub cluster: Option<Dim3>,
    pub cooperative: bool,
    pub dynamic: u32,
    pub registers: u32,
    pub descriptor: u64,
    pub program: u64,
    /// Number, address and bytes of each constant bank.
    pub banks: Vec<(usize, u64, usize)>,
    pub header: Vec<u8>,
    pub words: Vec<u32>,
}

fn number(text: &str) -> u64 {
    text.strip_prefix("0x").map_or_else(|| text.parse().unwrap(), |hex| u64::from_str_radix(hex, 16).unwrap())
}

fn sides(text: &str) -> Dim3 {
    let mut sides = text.split('x').map(|side| side.parse().unwrap());
    std::array::from_fn::<u32, 3, _>(|_| sides.next().unwrap()).into()
}

fn bytes(hex: &str) -> Vec<u8> {
    hex.as_bytes().chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// All of them.
pub(crate) fn launches() -> Vec<Truth> {
    let mut lines = include_str!("../../tests/truth/launches.txt").lines();
    std::iter::from_fn(|| {
        let (name, words) = lines.next()?.strip_prefix("launch ")?.split_once(' ')?;
        let words: Vec<&str> = words.split(' ').collect();
        let value = |name: &str| words.iter().position(|word| *word == name).map(|at| words[at + 1]);
        let get = |name: &str| value(name).unwrap();
        let bank = |n: usize| {
            let size = number(value(&format!("bytes{n}"))?) as usize;
            Some((n, number(get(&format!("bank{n}"))), size))
        };
        let header = lines.next()?.strip_prefix("header ").unwrap();
        let descriptor = bytes(lines.next()?.strip_prefix("descriptor ").unwrap());
        Some(Truth {
            name: name.to_owned(),
            grid: sides(get("grid")),
            block: sides(get("block")),
            cluster: value("cluster").filter(|sides| *sides != "none").map(sides),
            cooperative: get("cooperative") == "1",
            dynamic: number(get("dynamic")) as u32,
            registers: number(get("registers")) as u32,
            descriptor: number(get("descriptor")),
            program: number(get("program")),
            banks: (0..8).filter_map(bank).collect(),
            header: bytes(header),
            words: descriptor.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect(),
        })
    })
    .collect()
}
