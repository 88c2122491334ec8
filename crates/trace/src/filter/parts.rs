//! Splits a filter's text at `&`.

/// Parts of a text that are joined by `&`, but not inside brackets or quotes.
pub(super) fn split_at_and(text: &str) -> Vec<&str> {
    let (mut depth, mut quoted) = (0i32, false);
    let is_and = move |c| {
        match c {
            '"' => quoted = !quoted,
            '[' if !quoted => depth += 1,
            ']' if !quoted => depth -= 1,
            _ => {}
        }
        c == '&' && depth <= 0 && !quoted
    };
    text.split(is_and).map(str::trim).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_outside_brackets() {
        assert_eq!(split_at_and("a & b"), ["a", "b"]);
        assert_eq!(split_at_and("a[x=\"p&q\"],b"), ["a[x=\"p&q\"],b"]);
        assert_eq!(split_at_and(""), [""]);
    }
}
