//! A page that `cutap view` wrote, read as a browser reads it: the policy, the data, the boxes.

use flate2::read::GzDecoder;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::io::Read;
use std::path::Path;

pub struct Page {
    /// The file without its data.
    pub html: String,
    /// Bytes of the file.
    pub bytes: usize,
    data: Vec<(String, Vec<u8>)>,
}

/// A box of the timeline.
#[derive(Debug)]
pub struct TimeBox {
    pub text: String,
    pub layer: String,
    pub library: String,
    /// Since the first process began.
    pub start_ns: u64,
    pub took_ns: u64,
    /// The box of the call that submitted it.
    pub caller: Option<usize>,
}

impl Page {
    /// Reads a file.
    pub fn read(file: &Path) -> Page {
        let text = std::fs::read_to_string(file).expect("a page of UTF-8");
        let (mut html, mut data) = (String::new(), Vec::new());
        for line in text.lines() {
            let element = line.strip_prefix("<script type=\"text/plain\" id=\"data-");
            let Some((name, rest)) = element.and_then(|rest| rest.split_once("\">")) else {
                html.push_str(line);
                html.push('\n');
                continue;
            };
            let mut bytes = Vec::new();
            let packed = decoded(rest.strip_suffix("</script>").expect("one line"));
            GzDecoder::new(&packed[..]).read_to_end(&mut bytes).expect("gzip");
            data.push((name.to_owned(), bytes));
        }
        Page { html, bytes: text.len(), data }
    }

    fn data(&self, name: &str) -> &[u8] {
        &self.data.iter().find(|(of, _)| of == name).expect("data of this name").1
    }

    /// The value that stands under a name.
    pub fn json(&self, name: &str) -> Value {
        serde_json::from_slice(self.data(name)).expect("JSON")
    }

    /// The text between two others, which stand there once.
    pub fn between(&self, start: &str, end: &str) -> &str {
        assert_eq!(self.html.matches(start).count(), 1, "{start}");
        let (_, rest) = self.html.split_once(start).expect("it begins");
        rest.split_once(end).expect("it ends").0
    }

    /// Only the script and the style of the page may run, and nothing in it asks the network for anything.
    pub fn check_policy(&self) {
        let policy = self.between("http-equiv=\"Content-Security-Policy\" content=\"", "\"");
        let hash = |text: &str| format!("'sha256-{}'", encoded(&Sha256::digest(text.as_bytes())));
        let (script, style) = (self.between("<script>", "</script>"), self.between("<style>", "</style>"));
        let parts: Vec<&str> = policy.split("; ").collect();
        let expected = [
            "default-src 'none'".to_owned(),
            format!("script-src {}", hash(script)),
            format!("style-src {}", hash(style)),
            "base-uri 'none'".to_owned(),
            "form-action 'none'".to_owned(),
        ];
        assert_eq!(parts, expected);
        let outside = self.html.replace(script, "").replace(style, "");
        for word in ["src=", "href=", "<link", "<iframe", "<img", "<object"] {
            assert!(!outside.contains(word), "{word}");
        }
        for word in ["url(", "@import"] {
            assert!(!style.contains(word), "{word}");
        }
        for word in [
            "eval(",
            "Function(",
            "fetch(",
            "XMLHttp",
            "WebSocket",
            "import(",
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "sendBeacon",
            "localStorage",
        ] {
            assert!(!script.contains(word), "{word}");
        }
    }

    /// The boxes, by their columns.
    pub fn boxes(&self) -> Vec<TimeBox> {
        let head = self.json("tables")["timeline"].clone();
        let (columns, count) = (self.data("boxes"), head["boxes"].as_u64().unwrap() as usize);
        assert_eq!(columns.len(), 25 * count);
        let double = |at: usize| f64::from_le_bytes(columns[at..at + 8].try_into().unwrap());
        let word = |at: usize| u32::from_le_bytes(columns[at..at + 4].try_into().unwrap());
        let of = |n: usize| {
            let name = &head["names"][word(16 * count + 4 * n) as usize];
            let part = |place: usize| name[place].as_str().unwrap().to_owned();
            let caller = word(20 * count + 4 * n);
            TimeBox {
                text: part(0),
                layer: part(1),
                library: part(2),
                start_ns: double(8 * n) as u64,
                took_ns: double(8 * count + 8 * n) as u64,
                caller: (caller != u32::MAX).then_some(caller as usize),
            }
        };
        let rows = head["box_rows"].as_array().unwrap();
        for row in rows {
            let (from, to) = (row[2].as_u64().unwrap() as usize, row[3].as_u64().unwrap() as usize);
            for n in from + 1..to {
                let end = double(8 * (n - 1)) + double(8 * count + 8 * (n - 1));
                assert!(end <= double(8 * n), "boxes of a row do not overlap: {row} at {n}");
            }
        }
        (0..count).map(of).collect()
    }
}

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn decoded(text: &str) -> Vec<u8> {
    let value = |c: u8| LETTERS.iter().position(|letter| *letter == c).map_or(0, |n| n as u32);
    let mut bytes = Vec::new();
    for four in text.as_bytes().chunks(4) {
        let number = four.iter().fold(0, |n, c| n << 6 | value(*c));
        let length = 3 - four.iter().filter(|c| **c == b'=').count();
        bytes.extend_from_slice(&number.to_be_bytes()[1..=length]);
    }
    bytes
}

fn encoded(bytes: &[u8]) -> String {
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let number = (0..3).fold(0u32, |n, place| n << 8 | u32::from(three.get(place).copied().unwrap_or(0)));
        let letter = |place: usize| char::from(LETTERS[(number >> (18 - 6 * place)) as usize & 63]);
        (0..4).for_each(|place| out.push(if place > three.len() { '=' } else { letter(place) }));
    }
    out
}
