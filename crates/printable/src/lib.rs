//! Text of a program, a file or the environment, made safe for a terminal and for one line of output. Control characters could
//! move the cursor or start an escape sequence. Format characters are invisible, and some reorder the text around them
//! (U+202E). Each is written as an escape: `\n`, `\u{1b}`, `\u{202e}`. Whatever is printed for people goes through here; JSON
//! has escapes of its own.

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

/// Adds a character, or its escape.
pub fn push(c: char, to: &mut String) {
    match c {
        _ if is_printable(c) => to.push(c),
        '\0' | '\t' | '\r' | '\n' => to.extend(c.escape_debug()),
        _ => to.extend(c.escape_unicode()),
    }
}

/// The text with escapes for what is not printable.
pub fn printable(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_printable) {
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
}
