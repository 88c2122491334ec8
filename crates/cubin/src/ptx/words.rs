//! Words and signs of PTX.

/// Words of a declaration at most. They take more memory than the text. A kernel has up to 32 764 parameters, each of
/// a few words.
const MOST: usize = 1 << 20;

/// The text with a space in place of each comment. A comment without an end has all of the rest.
pub(super) fn without_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('/') {
        let (before, slash) = rest.split_at(at);
        plain.push_str(before);
        let (close, skip) = match slash.as_bytes().get(1) {
            Some(b'/') => ("\n", 0),
            Some(b'*') => ("*/", 2),
            _ => ("/", 1), // a slash that begins no comment
        };
        plain.push(if close == "/" { '/' } else { ' ' });
        rest = slash.find(close).and_then(|end| slash.get(end + skip..)).unwrap_or_default();
    }
    plain + rest
}

/// Words, and signs of lists, of a declaration without comments; `None` for one that is longer than any.
pub(super) fn words(text: &str) -> Option<Vec<&str>> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        if words.len() == MOST {
            return None;
        }
        let is_sign = rest.starts_with(['(', ')', ',', '[', ']']);
        // `.param.f64` is as good as `.param .f64`.
        let is_end = |(at, c): (usize, char)| at > 0 && (c.is_whitespace() || "(),[].".contains(c));
        let end = rest.char_indices().find(|c| is_sign && c.0 == 1 || is_end(*c)).map_or(rest.len(), |(at, _)| at);
        let (word, more) = rest.split_at(end);
        words.push(word);
        rest = more.trim_start();
    }
    Some(words)
}

/// Whether a word can be a name.
pub(super) fn is_name(word: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%');
    !word.is_empty() && word.chars().all(is_letter) && !starts_with_digit(word)
}

pub(super) fn starts_with_digit(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
}
