//! What libcuda 580.159.04 put into its rings, streams and launch descriptors on an H200, decoded.

use cutap_rm::submit::{Entry, Stream, class_of_methods, descriptor, method_name};

const STREAMS: &str = include_str!("../transcripts/pushbuffer.txt");
const DESCRIPTORS: &str = include_str!("../transcripts/qmd.txt");

fn hex(word: &str) -> u32 {
    u32::from_str_radix(word.trim_start_matches("0x"), 16).unwrap()
}

#[test]
fn entries_of_rings() {
    let mut entries = 0;
    for line in STREAMS.lines().filter(|l| l.starts_with(" ENTRY")) {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let word = u64::from(hex(words[2])) | u64::from(hex(words[3])) << 32;
        let entry = Entry::of(word);
        assert_eq!(format!("{:x}", entry.address), words[5], "{line}");
        assert_eq!((entry.words.to_string(), u32::from(entry.level).to_string()), (words[7].into(), words[9].into()));
        assert_eq!(entry.word(), word);
        entries += 1;
    }
    assert_eq!(entries, 180);
}

#[test]
fn each_method_has_its_name() {
    let mut methods = 0;
    for line in STREAMS.lines().filter(|l| l.starts_with("  sub")) {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let class = match words[0] {
            "sub0" => 0xc86f,
            "sub1" => 0xcbc0,
            _ => 0xc8b5,
        };
        let (address, named) = (hex(words[1]), if words[2] == "=" { words.get(4) } else { None });
        let Some(named) = named else { continue };
        let (name, element) = method_name(class, address).unwrap_or_else(|| panic!("{line}"));
        assert!(name == *named || element.is_some_and(|n| n > 0), "{line}: {name}");
        methods += 1;
    }
    assert!(methods > 60, "{methods}");
}

#[test]
fn methods_of_a_stream() {
    let words = [0x2002_20ad, 7, 8, 0x6003_206d, 1, 2, 3, 0xa002_2040, 9, 10, 0x8005_8040, 0, 0xffff_ffff];
    let mut stream = Stream::new(&words);
    let found: Vec<(u8, u32, u32)> = stream.by_ref().map(|m| (m.subchannel, m.address, m.value)).collect();
    let wanted = [
        (1, 0x2b4, 7),
        (1, 0x2b8, 8),
        (1, 0x1b4, 1),
        (1, 0x1b4, 2),
        (1, 0x1b4, 3),
        (1, 0x100, 9),
        (1, 0x104, 10),
        (4, 0x100, 5),
    ];
    assert_eq!((found.as_slice(), stream.unknown()), (&wanted[..], 1));
}

#[test]
fn launch_descriptors() {
    let mut fields: Vec<(String, u32, u32, u64)> = Vec::new();
    let mut found = 0;
    for line in DESCRIPTORS.lines() {
        if let Some(rest) = line.trim().strip_prefix("words: ") {
            let words: Vec<u32> = rest.split(' ').map(hex).collect();
            let layout = descriptor(0xcbc0).unwrap();
            let mut own: Vec<_> = layout
                .fields(&words)
                .map(|f| {
                    let name = f.element.map_or_else(|| f.name.to_owned(), |n| format!("{}({n})", f.name));
                    (name, f.bits.1, f.bits.0, f.value)
                })
                .collect();
            fields.sort();
            own.sort();
            assert_eq!(own, fields);
            assert_eq!((layout.get(&words, "QMD_MAJOR_VERSION"), layout.get(&words, "NOT_THERE")), (Some(4), None));
            fields.clear();
            found += 1;
        } else if let [name, bits, value] = line.split_ascii_whitespace().collect::<Vec<_>>()[..]
            && let Some((high, low)) = bits.split_once(':')
        {
            fields.push((name.to_owned(), high.parse().unwrap(), low.parse().unwrap(), hex(value).into()));
        }
    }
    assert_eq!(found, 2);
}

#[test]
fn of_classes_without_a_header_the_older_one() {
    assert_eq!(class_of_methods(0xc86f).map(|c| c.number), Some(0xc56f));
    assert_eq!(class_of_methods(0xcbc0).map(|c| c.name), Some("HOPPER_COMPUTE_A"));
    assert_eq!(class_of_methods(0x1234).map(|c| c.number), None);
    assert_eq!((descriptor(0xcdc0).map(|d| d.major), descriptor(0xc3c0).map(|d| d.major)), (Some(5), None));
    assert_eq!((descriptor(0xc7c0).map(|d| d.major), descriptor(0xcec0).map(|d| d.minor)), (Some(3), Some(1)));
}

#[test]
fn any_words_are_safe() {
    let words: Vec<u32> = (0..10_000u32).map(|n| n.wrapping_mul(0x9e37_79b9) ^ n.rotate_left(13)).collect();
    assert!(Stream::new(&words).count() > 1000);
    for from in 0..100 {
        let _ = descriptor(0xcbc0).map(|d| d.fields(&words[from..from + from % 97]).count());
        let _ = Entry::of(u64::from(words[from]) << 32 | u64::from(words[from + 1])).word();
    }
}
