//! Text of a program, a file or the environment, made safe for a terminal and for one line of output. Control
//! characters could move the cursor or start an escape sequence. Format characters are invisible, and some reorder the
//! text around them (U+202E). Each is written as an escape: `\n`, `\u{1b}`, `\u{202e}`. Whatever is printed for people
//! goes through here. JSON has separate escapes for these characters: [`push_json`].

use std::borrow::Cow;
use unicode_general_category::{GeneralCategory, get_general_category};

/// Whether a terminal shows this character as itself.
pub fn is_printable(c: char) -> bool {
    use GeneralCategory::{Control, Format, LineSeparator, ParagraphSeparator};
    match c.is_ascii() {
        true => !c.is_ascii_control(),
        false => !matches!(get_general_category(c), Control | Format | LineSeparator | ParagraphSeparator),
    }
}

/// Whether the text is ASCII that a terminal shows as itself, or this byte. Nearly all text is, and this is the
/// quickest way to know.
fn is_plain(text: &str, or: u8) -> bool {
    text.bytes().fold(true, |plain, b| plain & (matches!(b, b' '..=b'~') | (b == or)))
}

/// Adds a character, or its escape.
pub fn push(c: char, to: &mut String) {
    match c {
        _ if is_printable(c) => to.push(c),
        '\0' | '\t' | '\r' | '\n' => to.extend(c.escape_debug()),
        _ => to.extend(c.escape_unicode()),
    }
}

/// Adds a character to a JSON string in which quotes, backslashes and ASCII's control characters are escaped already.
pub fn push_json(c: char, to: &mut String) {
    if is_printable(c) {
        return to.push(c);
    }
    for unit in c.encode_utf16(&mut [0; 2]) {
        to.push_str(&format!("\\u{unit:04x}"));
    }
}

/// JSON text whose strings hold no character that a terminal would obey.
pub fn json(text: &str) -> Cow<'_, str> {
    // A line break stands between JSON's tokens, never in a string.
    if is_plain(text, b'\n') || text.chars().all(|c| c == '\n' || is_printable(c)) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    text.chars().for_each(|c| if c == '\n' { out.push(c) } else { push_json(c, &mut out) });
    out.into()
}

/// The text with escapes for what is not printable.
pub fn printable(text: &str) -> Cow<'_, str> {
    if is_plain(text, b' ') || text.chars().all(is_printable) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    text.chars().for_each(|c| push(c, &mut out));
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_escaped() {
        for (text, shown) in [
            ("plain, größer, 日本語, \"quoted\\\"", "plain, größer, 日本語, \"quoted\\\""),
            ("a\u{1b}[31mb\n\r\t\0", "a\\u{1b}[31mb\\n\\r\\t\\0"),
            ("\u{7f}\u{9b}31m", "\\u{7f}\\u{9b}31m"),
            ("exe\u{202e}fdp", "exe\\u{202e}fdp"),
            ("\u{200b}\u{2066}\u{feff}\u{ad}\u{e0001}", "\\u{200b}\\u{2066}\\u{feff}\\u{ad}\\u{e0001}"),
            ("\u{2028}\u{2029}", "\\u{2028}\\u{2029}"),
        ] {
            assert_eq!(printable(text), shown);
        }
        assert!(matches!(printable("cudaMalloc"), Cow::Borrowed(_)));
    }

    #[test]
    fn json_uses_its_own_escapes() {
        let text = "{\n  \"größer\": \"\u{9b}31m \u{202e} \u{e0001} \u{7f}\"\n}";
        assert_eq!(json(text), "{\n  \"größer\": \"\\u009b31m \\u202e \\udb40\\udc01 \\u007f\"\n}");
    }
}
