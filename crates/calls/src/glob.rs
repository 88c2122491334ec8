//! Matches byte strings against patterns with `*` (any characters) and `?` (one character).
//!
//! After a mismatch only the last star can match differently, so no recursion is needed. The time is at most
//! pattern length times text length.

/// Whether all of `text` matches `pattern`.
pub fn glob(pattern: &[u8], text: &[u8]) -> bool {
    let (mut pattern, mut text) = (pattern, text);
    let mut star: Option<(&[u8], &[u8])> = None;
    loop {
        match (pattern.split_first(), text.split_first()) {
            (Some((b'*', rest)), _) => {
                star = Some((rest, text));
                pattern = rest;
            }
            (Some((p, rest)), Some((t, after))) if p == t || *p == b'?' => {
                pattern = rest;
                text = after;
            }
            (None, None) => return true,
            _ => match star {
                Some((after_star, [_, skipped @ ..])) => {
                    star = Some((after_star, skipped));
                    pattern = after_star;
                    text = skipped;
                }
                _ => return false,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::glob;

    #[test]
    fn patterns() {
        for (pattern, text, expected) in [
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("*", "anything", true),
            ("**", "a", true),
            ("cuMem*", "cuMemAlloc_v2", true),
            ("cuMem*", "cuMe", false),
            ("*_v2", "cuMemAlloc_v2", true),
            ("*_v2", "cuMemAlloc_v2_ptsz", false),
            ("cu*Alloc*", "cuMemAlloc", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("cuInit", "cuInit", true),
            ("cuInit", "cuInit2", false),
        ] {
            assert_eq!(glob(pattern.as_bytes(), text.as_bytes()), expected, "{pattern} against {text}");
        }
    }
}
