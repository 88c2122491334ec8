//! The 600 calls of cuTensorMapEncodeIm2col and the 28 long strides that NVIDIA's driver answered
//! (580.159.04, H200), from `tests/gpu/programs/occupancy_clusters.c`.

use cutap_tensor_map::{Im2col, Refusal, Tiled};
use serde_json::Value;
use std::process::{Command, Stdio};

fn rows() -> Vec<Value> {
    let file =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/gpu/results/2026-11-28-occupancy-clusters-h200.jsonl.gz");
    let text = Command::new("gzip").args(["-dc", file]).stderr(Stdio::inherit()).output().unwrap().stdout;
    std::str::from_utf8(&text).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn hex(words: &[u32; 32]) -> String {
    words.map(|word| format!("{word:x}")).join(" ")
}

#[test]
fn as_the_driver_makes_them() {
    let (mut maps, mut refused) = (0, 0);
    for row in rows().iter().filter(|row| row.get("im2col").is_some()) {
        let number = |n: usize| row["im2col"][n].as_u64().unwrap() as u32;
        let rank = number(1) as usize;
        let of_side = |n: usize, k: usize| row[format!("side{n}")][k].as_u64().unwrap();
        let corner = |k: usize| (0..rank - 2).map(|n| row[format!("corner{n}")][k].as_i64().unwrap() as i32).collect();
        let (lower, upper): (Vec<i32>, Vec<i32>) = (corner(0), corner(1));
        let map = Im2col {
            element: number(0),
            address: u64::from_str_radix(row["im2col"][2].as_str().unwrap().trim_start_matches("0x"), 16).unwrap(),
            sides: &(0..rank).map(|n| of_side(n, 0)).collect::<Vec<_>>(),
            strides: &(0..rank - 1).map(|n| of_side(n, 1)).collect::<Vec<_>>(),
            lower: &lower,
            upper: &upper,
            channels: number(3),
            pixels: number(4),
            steps: &(0..rank).map(|n| of_side(n, 2) as u32).collect::<Vec<_>>(),
            interleave: number(5),
            swizzle: number(6),
            promotion: number(7),
            fill: number(8),
        };
        match (map.encode(), row["result"].as_u64().unwrap()) {
            (Ok(map), 0) => {
                assert_eq!(hex(map.words()), row["map"], "{row}");
                maps += 1;
            }
            (Err(Refusal::Invalid(_)), 1) => refused += 1,
            (answer, _) => panic!("{answer:?} for {row}"),
        }
    }
    assert_eq!((maps, refused), (466, 134));
}

#[test]
fn long_strides() {
    let mut maps = 0;
    for row in rows() {
        let Some(which) = (0..4).find(|n| row.get(format!("stride{n}")).is_some()) else { continue };
        let mut strides = [64, 128, 256, 512];
        strides[which] = row[format!("stride{which}")].as_u64().unwrap();
        let words: Vec<u64> =
            row["map"].as_str().unwrap().split(' ').map(|word| u64::from_str_radix(word, 16).unwrap()).collect();
        let map = Tiled {
            element: 7,
            address: words[0] | words[1] << 32,
            sides: &[64, 2, 2, 2, 2],
            strides: &strides,
            box_sides: &[16, 1, 1, 1, 1],
            steps: &[1; 5],
            interleave: 0,
            swizzle: 0,
            promotion: 0,
            fill: 0,
        };
        assert_eq!(hex(map.encode().unwrap().words()), row["map"], "{row}");
        maps += 1;
    }
    assert_eq!(maps, 28);
}

#[test]
fn corners_have_few_bits() {
    let map = Im2col {
        element: 6,
        address: 0x7f00_0000_0000,
        sides: &[64, 50, 60, 70, 80],
        strides: &[128, 6400, 12800, 25600],
        lower: &[-16, 0, 15],
        upper: &[0, 0, 0],
        channels: 64,
        pixels: 32,
        steps: &[1; 5],
        interleave: 0,
        swizzle: 0,
        promotion: 0,
        fill: 0,
    };
    assert!(map.encode().is_ok());
    assert!(Im2col { lower: &[-17, 0, 0], ..map }.encode().is_err());
    assert!(Im2col { upper: &[0, 16, 0], ..map }.encode().is_err());
    assert!(Im2col { pixels: 0, ..map }.encode().is_err());
    assert!(Im2col { lower: &[0, 0], ..map }.encode().is_err());
    let refused = Im2col { sides: &[64, 50], strides: &[128], lower: &[], upper: &[], steps: &[1; 2], ..map }.encode();
    assert_eq!(refused.unwrap_err().to_string(), "a tensor map with a rank that is not 3 to 5");
}
