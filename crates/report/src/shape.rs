//! Makes a finished line shorter, for a terminal: structs of many fields keep the first six, and the line ends at the
//! terminal's width. Works on text alone; colours and quoted texts stay whole.

/// Fields of a struct that are kept.
const FIELDS: usize = 6;
/// The end of a colour.
const RESET: &str = "\x1b[0m";

/// Replaces the fields after the sixth in each `{a=1, b=2, ...}` by `…`.
pub fn abbreviate(line: &mut String) {
    if line.bytes().filter(|b| *b == b'=').count() <= FIELDS {
        return;
    }
    let (mut out, mut at) = (String::with_capacity(line.len()), 0);
    while let Some(found) = line.get(at..).and_then(|rest| rest.find('{')) {
        let open = at + found;
        out.push_str(line.get(at..=open).unwrap_or(""));
        let inner = line.get(open + 1..).unwrap_or("");
        at = open + 1;
        if let Some(cut) = seventh(inner) {
            let mut kept = inner.get(..cut.from).unwrap_or("").to_owned();
            // Structs inside are abbreviated too.
            abbreviate(&mut kept);
            out.push_str(&kept);
            out.push('…');
            at += cut.to;
        }
    }
    out.push_str(line.get(at..).unwrap_or(""));
    *line = out;
}

/// The part of a struct that is left out: from after the comma of its sixth field to before its closing brace.
struct Cut {
    from: usize,
    to: usize,
}

/// Looks for the part to leave out in what follows an opening brace; none if it is no struct with so many fields.
fn seventh(inner: &str) -> Option<Cut> {
    let (mut depth, mut quoted, mut escaped, mut commas, mut named) = (0u32, false, false, 0, false);
    let mut from = None;
    for (at, c) in inner.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => {}
            '{' | '[' | '(' => depth += 1,
            '}' if depth == 0 => {
                let many = commas >= FIELDS && named;
                return from.filter(|_| many).map(|from| Cut { from, to: at });
            }
            '}' | ']' | ')' => depth = depth.saturating_sub(1),
            '=' if depth == 0 => named = true,
            ',' if depth == 0 => {
                commas += 1;
                if commas == FIELDS {
                    from = Some(at + 2);
                }
            }
            _ => {}
        }
    }
    None
}

/// Cuts a line so that it has at most so many columns, with `…` in it. What begins at `tail` (the result and the
/// time) is kept, unless it takes more than two thirds of the line. A character counts as one column.
pub fn cut(line: &mut String, width: usize, tail: Option<usize>) {
    // Without multi-byte characters and colours a short line is one of few bytes.
    if line.len() <= width || columns(line) <= width {
        return;
    }
    let end = tail.and_then(|at| line.get(at..)).filter(|end| columns(end) * 3 <= width * 2).unwrap_or("").to_owned();
    let room = width.saturating_sub(columns(&end));
    let (mut seen, mut coloured, mut in_escape, mut at_end) = (0usize, false, false, None);
    for (at, c) in line.char_indices() {
        match c {
            '\x1b' => in_escape = true,
            'm' if in_escape => {
                in_escape = false;
                // `\x1b[0m` ends a colour.
                coloured = !line.get(..=at).is_some_and(|before| before.ends_with(RESET));
            }
            _ if in_escape => {}
            _ => {
                seen += 1;
                if seen == room {
                    at_end = Some((at, coloured));
                    break;
                }
            }
        }
    }
    if let Some((at, coloured)) = at_end {
        line.truncate(at);
        line.push('…');
        if coloured {
            line.push_str(RESET);
        }
        line.push_str(&end);
    }
}

/// Columns that a text takes: its characters without colours.
fn columns(text: &str) -> usize {
    let mut in_escape = false;
    text.chars()
        .filter(|c| match c {
            '\x1b' => {
                in_escape = true;
                false
            }
            'm' if in_escape => {
                in_escape = false;
                false
            }
            _ => !in_escape,
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn abbreviated(text: &str) -> String {
        let mut line = text.to_owned();
        abbreviate(&mut line);
        line
    }

    fn cut_to(text: &str, width: usize) -> String {
        let mut line = text.to_owned();
        let tail = line.find(" = ");
        cut(&mut line, width, tail);
        line
    }

    #[test]
    fn structs_of_more_than_six_fields() {
        let six = "f(p=&{a=1, b=2, c=3, d=4, e=5, f=6}) = 0";
        assert_eq!(abbreviated(six), six);
        assert_eq!(abbreviated("f(p=&{a=1, b=2, c=3, d=4, e=5, f=6, g=7, h=8}) = 0"), {
            "f(p=&{a=1, b=2, c=3, d=4, e=5, f=6, …}) = 0"
        });
        let inner = "{x={a=1, b=2, c=3, d=4, e=5, f=6, g=7}, y={z=[1, 2]}, n=\"a, {b\"}";
        assert_eq!(abbreviated(inner), "{x={a=1, b=2, c=3, d=4, e=5, f=6, …}, y={z=[1, 2]}, n=\"a, {b\"}");
    }

    #[test]
    fn opening_lines_and_kernel_parameters_stay() {
        for text in
            ["f(a=1, b=2, c=3, d=4, e=5, f=6, g=7, h=8) {", "f(args={1, 2, 3, 4, 5, 6, 7, 8}, x=1, y=2, z=3, w=4)"]
        {
            assert_eq!(abbreviated(text), text);
        }
    }

    #[test]
    fn lines_end_at_the_width() {
        assert_eq!(cut_to("12345", 5), "12345");
        assert_eq!(cut_to("123456", 5), "1234…");
        assert_eq!(cut_to("f(a=1, b=2, c=3) = ERROR <1us>", 26), "f(a=1, b=2,… = ERROR <1us>");
        assert_eq!(cut_to("f(a=1, b=2, c=3) = ERROR <1us>", 20), "f(a=1, b=2, c=3) = …", "the result is too long");
        assert_eq!(cut_to("äöüäöü", 6), "äöüäöü");
        assert_eq!(cut_to("\x1b[1mabcdef\x1b[0mgh", 4), "\x1b[1mabc…\x1b[0m");
        assert_eq!(cut_to("\x1b[1mab\x1b[0mcdefgh", 4), "\x1b[1mab\x1b[0mc…");
    }
}
