//! Reads the transcripts of real programs.

use cutap_rm::{Device, Fragments, Request};

/// One request of a transcript.
pub(crate) struct Entry {
    pub(crate) device: Device,
    pub(crate) request: u32,
    pub(crate) result: i64,
    pub(crate) before: Vec<u8>,
    pub(crate) after: Vec<u8>,
    pub(crate) memory: Fragments,
}

impl Entry {
    pub(crate) fn request(&self) -> Request<'_> {
        Request {
            device: self.device,
            request: self.request,
            before: &self.before,
            after: Some(&self.after),
            result: Some(self.result),
        }
    }
}

/// The requests of a file under `tests/transcripts`.
pub(crate) fn read(name: &str) -> Vec<Entry> {
    let path = format!("{}/tests/transcripts/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let mut entries: Vec<Entry> = Vec::new();
    for line in text.lines().filter(|l| !l.starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match (line.starts_with(' '), &words[..]) {
            (false, [node, request, result]) => entries.push(Entry {
                device: Device::of_path(&format!("/dev/{node}")).unwrap(),
                request: u32::from_str_radix(request, 16).unwrap(),
                result: result.parse().unwrap(),
                before: Vec::new(),
                after: Vec::new(),
                memory: Fragments::default(),
            }),
            (true, ["b", bytes]) => {
                let entry = entries.last_mut().unwrap();
                entry.before = decode(bytes);
                entry.after = entry.before.clone();
            }
            (true, ["a", bytes]) => entries.last_mut().unwrap().after = decode(bytes),
            (true, ["p", address, bytes @ ..]) => {
                let address = u64::from_str_radix(address, 16).unwrap();
                let before = decode(bytes[0]);
                let after = bytes.get(1).map_or_else(|| before.clone(), |b| decode(b));
                entries.last_mut().unwrap().memory.all.push((address, before, Some(after)));
            }
            _ => panic!("{line} is no line of a transcript"),
        }
    }
    entries
}

fn decode(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.trim_start_matches('-');
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('(') {
            let (count, after) = inner.split_once(')').unwrap();
            bytes.resize(bytes.len() + count.parse::<usize>().unwrap(), 0);
            rest = after;
        } else {
            bytes.push(u8::from_str_radix(&rest[..2], 16).unwrap());
            rest = &rest[2..];
        }
    }
    bytes
}
