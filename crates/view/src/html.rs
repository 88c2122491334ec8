//! The file: the template with a title and with data. Data are compressed and written as base64, in elements that a
//! browser does not run. The template has the policy that forbids all else.

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use std::io::{self, Write};

/// The template, which `cargo xtask page` joins.
const TEMPLATE: &str = include_str!("page.html");
/// Where the title and the data go.
const TITLE: &str = "<!--TITLE-->";
const DATA: &str = "<!--DATA-->";

/// Bytes of a file at most.
pub const MOST_BYTES: usize = 40 << 20;

/// A file in the making.
#[derive(Debug)]
pub struct Page {
    title: String,
    parts: Vec<(&'static str, String)>,
}

impl Page {
    /// A page without data.
    pub fn new(title: &str) -> Page {
        Page { title: escaped(title), parts: Vec::new() }
    }

    /// Adds data under a name.
    pub fn add(&mut self, name: &'static str, bytes: &[u8]) -> io::Result<()> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes)?;
        self.parts.push((name, base64(&encoder.finish()?)));
        Ok(())
    }

    /// Adds JSON.
    pub fn json(&mut self, name: &'static str, value: &Value) -> io::Result<()> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        serde_json::to_writer(io::BufWriter::new(&mut encoder), value)?;
        self.parts.push((name, base64(&encoder.finish()?)));
        Ok(())
    }

    /// Adds data that the page can do without, if the file does not become too large.
    pub fn add_if_room(&mut self, name: &'static str, bytes: &[u8]) -> io::Result<()> {
        self.add(name, bytes)?;
        if self.len() > MOST_BYTES {
            self.parts.pop();
        }
        Ok(())
    }

    /// Bytes of the file.
    pub fn len(&self) -> usize {
        TEMPLATE.len() + 2 * self.title.len() + self.parts.iter().map(|(_, text)| text.len() + 64).sum::<usize>()
    }

    /// Whether there is no data.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Writes the file.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let (before, rest) = TEMPLATE.split_once(TITLE).unwrap_or((TEMPLATE, ""));
        let (between, after) = rest.split_once(DATA).unwrap_or((rest, ""));
        out.write_all(before.as_bytes())?;
        out.write_all(self.title.as_bytes())?;
        out.write_all(between.as_bytes())?;
        for (name, text) in &self.parts {
            writeln!(out, "<script type=\"text/plain\" id=\"data-{name}\">{text}</script>")?;
        }
        out.write_all(after.as_bytes())?;
        out.flush()
    }
}

/// Text that a browser takes for nothing but text.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in cutap_printable::printable(text).chars().take(1000) {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            _ => out.push(c),
        }
    }
    out
}

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let number = (0..3).fold(0u32, |n, place| n << 8 | u32::from(three.get(place).copied().unwrap_or(0)));
        for place in 0..4 {
            let letter = LETTERS[(number >> (18 - 6 * place)) as usize & 63];
            out.push(if place > three.len() { '=' } else { letter.into() });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_base64() {
        let of = |text: &str| base64(text.as_bytes());
        assert_eq!([of(""), of("f"), of("fo"), of("foo"), of("foob")], ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]);
    }

    #[test]
    fn texts_are_left_out_of_a_file_that_would_be_too_large() {
        let mut page = Page::new("run");
        page.add_if_room("details", b"[]").unwrap();
        assert_eq!(page.parts.len(), 1);
        page.parts.push(("boxes", "x".repeat(MOST_BYTES - page.len() - 64)));
        page.add_if_room("details", b"[]").unwrap();
        assert_eq!((page.parts.len(), page.len()), (2, MOST_BYTES));
    }

    #[test]
    fn titles_are_text() {
        assert_eq!(escaped("<b>&\u{202e}\n"), "&lt;b&gt;&amp;\\u{202e}\\n");
    }

    #[test]
    fn the_template_has_its_places_once() {
        for place in [TITLE, DATA] {
            assert_eq!(TEMPLATE.matches(place).count(), 1, "{place}");
        }
    }
}
