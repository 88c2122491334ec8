//! Small readings of C as text. They are for comments, arguments of macros, and tables that only the driver's build
//! compiles, which clang's tree does not show. Must not know what is read.

/// `0x1F`, `(0x1fU)`, `31`.
pub(super) fn number(text: &str) -> Option<u64> {
    let text = text.trim().trim_start_matches('(').trim_end_matches(')').trim_end_matches(['u', 'U', 'l', 'L']).trim();
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

/// `#define NAME REST`: name and rest.
pub(super) fn define(line: &str) -> Option<(&str, &str)> {
    let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("define")?;
    let rest = rest.strip_prefix([' ', '\t'])?.trim_start();
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
    let (name, after) = rest.split_at(end);
    (!after.starts_with('(') && !name.is_empty()).then(|| (name, after.trim()))
}

/// What is between the end of `before` and the next `after`.
pub(super) fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let from = text.find(before)? + before.len();
    let rest = text.get(from..)?;
    rest.get(..rest.find(after)?)
}

/// The arguments of a macro's call, whose text begins after its open bracket; and the text after the call.
pub(super) fn arguments(text: &str) -> Option<(Vec<&str>, &str)> {
    let mut depth = 0_usize;
    let mut from = 0;
    let mut arguments = Vec::new();
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => {
                arguments.push(text.get(from..at)?.trim());
                return Some((arguments, text.get(at + 1..)?));
            }
            ')' => depth -= 1,
            ',' if depth == 0 => {
                arguments.push(text.get(from..at)?.trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    None
}

/// The text without `/* */` and `//` comments.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("/*").into_iter().chain(rest.find("//")).min() {
        let (before, comment) = rest.split_at(at);
        out.push_str(before);
        let end = if comment.starts_with("/*") { comment.find("*/").map(|e| e + 2) } else { comment.find('\n') };
        rest = end.and_then(|e| comment.get(e..)).unwrap_or("");
        out.push(' ');
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::{arguments, between, define, number, plain};

    #[test]
    fn pieces_of_c() {
        assert_eq!(number("(0x20800102U)"), Some(0x2080_0102));
        assert_eq!(number("(NV_IOCTL_BASE + 0)"), None);
        assert_eq!(define("#define A   (0x1U) /* x */"), Some(("A", "(0x1U) /* x */")));
        assert_eq!(define("#   define F(x) x"), None);
        assert_eq!(between("a /*n=*/ 1, b", "/*n=*/", ","), Some(" 1"));
        assert_eq!(arguments("a, f(b, c), d) rest"), Some((vec!["a", "f(b, c)", "d"], " rest")));
        assert_eq!(plain("a /* b */ c // d\ne"), "a   c  \ne");
    }
}
