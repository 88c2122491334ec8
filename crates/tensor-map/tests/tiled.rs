//! Maps and refusals of NVIDIA's driver (580.159.04, H100). `tiled.txt` is a sample that `sample.py` made. The variable
//! CUTAP_TENSOR_MAPS names a file with more calls, such as all 60,000 (`sample.py ... ALL`).

use cutap_tensor_map::{Refusal, TensorMap, Tiled};

fn list<T: std::str::FromStr>(text: &str) -> Vec<T> {
    text.split(',').filter_map(|item| item.parse().ok()).collect()
}

/// Maps and refusals that were as the driver's.
fn compare(calls: &str) -> (usize, usize) {
    let (mut maps, mut refused) = (0, 0);
    for line in calls.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |n: usize| words[n].parse().unwrap();
        let (sides, strides) = (list(words[2]), list(words[3]));
        let (box_sides, steps) = (list(words[4]), list(words[5]));
        let tiled = Tiled {
            element: number(0),
            address: u64::from_str_radix(words[1].trim_start_matches("0x"), 16).unwrap(),
            sides: &sides,
            strides: &strides,
            box_sides: &box_sides,
            steps: &steps,
            interleave: number(6),
            swizzle: number(7),
            promotion: number(8),
            fill: number(9),
        };
        match (tiled.encode(), words[10]) {
            (Err(Refusal::Invalid(_)), "refused") => refused += 1,
            (Ok(map), hex) if hex != "refused" => {
                let found: String = map.bytes().iter().map(|byte| format!("{byte:02x}")).collect();
                assert_eq!(found.trim_end_matches('0'), hex, "{line}");
                maps += 1;
            }
            (found, _) => panic!("{found:?} for {line}"),
        }
    }
    (maps, refused)
}

#[test]
fn as_the_driver_makes_them() {
    let (maps, refused) = compare(include_str!("tiled.txt"));
    assert!(maps >= 150 && refused >= 100, "{maps} maps and {refused} refusals");
    match std::env::var("CUTAP_TENSOR_MAPS") {
        Ok(path) => println!("all of {path}: {:?}", compare(&std::fs::read_to_string(&path).unwrap())),
        Err(_) => println!("skipped: all recorded calls (CUTAP_TENSOR_MAPS names no file)"),
    }
}

const PLAIN: Tiled<'_> = Tiled {
    element: 7,
    address: 0x7f00_0000_0000,
    sides: &[100, 200],
    strides: &[400],
    box_sides: &[32, 8],
    steps: &[1, 1],
    interleave: 0,
    swizzle: 0,
    promotion: 0,
    fill: 0,
};

#[test]
fn an_address_is_replaced() {
    let (map, other) = (PLAIN.encode().unwrap(), Tiled { address: 0x7e00_1234_0000, ..PLAIN }.encode().unwrap());
    let mut changed = TensorMap::from_words(*map.words());
    changed.set_address(0x7e00_1234_0000);
    assert_eq!((changed, changed.address_unit()), (other, 16));
    assert!(changed.is_map() && !TensorMap::from_words([0; 32]).is_map());
}

#[test]
fn what_is_not_known_is_refused() {
    let refused = |tiled: Tiled<'_>| tiled.encode().unwrap_err();
    assert!(matches!(refused(Tiled { element: 13, ..PLAIN }), Refusal::Unknown(_)));
    assert!(matches!(refused(Tiled { element: 99, ..PLAIN }), Refusal::Invalid(_)));
    assert!(matches!(refused(Tiled { strides: &[1 << 40], ..PLAIN }), Refusal::Invalid(_)));
    assert!(matches!(
        refused(Tiled { sides: &[], strides: &[], box_sides: &[], steps: &[], ..PLAIN }),
        Refusal::Invalid(_)
    ));
    assert!(matches!(refused(Tiled { strides: &[], ..PLAIN }), Refusal::Invalid(_)));
    assert!(matches!(refused(Tiled { steps: &[0, 1], ..PLAIN }), Refusal::Invalid(_)));
    let text = refused(Tiled { address: 8, ..PLAIN }).to_string();
    assert_eq!(text, "a tensor map with an address that is not aligned");
}
