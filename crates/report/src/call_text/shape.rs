//! Makes a finished line shorter, for a terminal: structs of many fields keep the first six, and the line ends at the
//! terminal's width. The name of a kernel gets what room there is, and its parameters the rest. Works on text alone;
//! colours and quoted texts stay whole.

use crate::call_text::text_format::TextFormat;
use crate::format::kernel_name::{fitting, plain};

/// Fields of a struct that are kept.
const FIELDS: usize = 6;
/// Columns for the name of a function, at least.
const NAME: usize = 30;
/// The end of a colour.
const RESET: &str = "\x1b[0m";

/// Where the parts of a line begin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Marks {
    /// The result, which stays longest.
    pub result: Option<usize>,
    /// The name of the kernel that is launched: from, to.
    pub kernel: Option<(usize, usize)>,
    /// What a launch has beside its configuration.
    pub parameters: Option<usize>,
    /// The functions of the calls inside, which a line has if there is room: from where, and up to where it keeps them.
    pub inside: Option<(usize, usize)>,
}

/// Fewer columns for the parameters of a kernel tell nothing.
const OTHERS: usize = 16;

/// Makes a line shorter, as the format says.
pub fn shorten(line: &mut String, marks: Marks, format: &TextFormat) {
    let TextFormat { abbreviate: fields, texts, width, .. } = *format;
    if !fields && texts.is_none() && width.is_none() {
        return;
    }
    if let (Some((from, to)), Some(width)) = (marks.inside, width)
        && line.len() > width
        && columns(line) > width
        && line.is_char_boundary(to)
    {
        let is_whole = line.get(to..).is_some_and(|rest| rest.starts_with('}'));
        let reset = line.ends_with(RESET);
        line.truncate(to);
        if to > from {
            line.push_str(if is_whole { "}" } else { ", …}" });
            line.push_str(if reset { RESET } else { "" });
        }
    }
    let mut result = marks.result;
    if let (Some((from, to)), Some(parameters_at)) = (marks.kernel, marks.parameters) {
        let shorter = launch(line, (from, to), parameters_at, marks.result, format);
        result = result.map(|at| at.saturating_sub(shorter));
    }
    let mut end = result.filter(|at| line.is_char_boundary(*at)).map(|at| line.split_off(at)).unwrap_or_default();
    for part in [&mut *line, &mut end] {
        texts.into_iter().for_each(|most| shorten_texts(part, most));
        if fields {
            abbreviate(part);
        }
    }
    let at = Some(line.len()).filter(|_| !end.is_empty());
    line.push_str(&end);
    if let Some(width) = width {
        cut(line, width, at);
    }
}

/// Makes the name of a launched kernel as long as there is room, and leaves its parameters out if they get none. Gives
/// the number of bytes by which the line before its result is shorter.
fn launch(
    line: &mut String,
    name: (usize, usize),
    parameters_at: usize,
    result: Option<usize>,
    format: &TextFormat,
) -> usize {
    let before = line.len();
    let (Some(kernel), Some(head)) = (line.get(name.0..name.1), line.get(..name.0)) else { return 0 };
    let configuration = line.get(name.1..parameters_at).unwrap_or("");
    let parameters = line.get(parameters_at..result.unwrap_or(before)).unwrap_or("");
    let end = result.and_then(|at| line.get(at..)).unwrap_or("");
    let kernel = match format.width {
        _ if !format.abbreviate && format.width.is_none_or(|width| columns(line) <= width) => return 0,
        Some(width) => {
            let brace = if result.is_none() { 2 } else { 0 };
            let used_columns = columns(head) + columns(configuration) + columns(end) + brace;
            fitting(kernel, width.saturating_sub(used_columns).max(1))
        }
        None => plain(kernel).to_owned(),
    };
    let used_columns = columns(head) + columns(&kernel) + columns(configuration) + columns(end);
    // An opening line ends with ` {`.
    let opening = if result.is_none() && parameters.ends_with(" {") { " {" } else { "" };
    let has_room = format.width.is_none_or(|width| width >= used_columns + columns(parameters).min(OTHERS));
    let parameters = if has_room { parameters } else { opening };
    let shorter = format!("{head}{kernel}{configuration}{parameters}{end}");
    *line = shorter;
    before.saturating_sub(line.len())
}

/// Replaces the fields after the sixth in each `{a=1, b=2, ...}` by `…`.
fn abbreviate(line: &mut String) {
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
            let mut beginning = inner.get(..cut.from).unwrap_or("").to_owned();
            // Structs inside are abbreviated too.
            abbreviate(&mut beginning);
            out.push_str(&beginning);
            out.push('…');
            at += cut.to;
        }
    }
    out.push_str(line.get(at..).unwrap_or(""));
    *line = out;
}

/// Cuts each quoted text that has more than `most` bytes, with `...` after it, as strace does.
fn shorten_texts(line: &mut String, most: usize) {
    if !line.contains('"') {
        return;
    }
    let mut out = String::with_capacity(line.len());
    let mut rest = line.as_str();
    while let Some((before, quoted)) = rest.split_once('"') {
        out.push_str(before);
        let (inner, after) = quoted.split_at(end_of_text(quoted, usize::MAX));
        let cut_at = end_of_text(inner, most);
        out.push('"');
        out.push_str(inner.get(..cut_at).unwrap_or(""));
        rest = after;
        if cut_at < inner.len() {
            out.push_str("\"...");
            let closed = rest.strip_prefix('"').unwrap_or(rest);
            rest = closed.strip_prefix("...").unwrap_or(closed);
        } else if let Some(closed) = rest.strip_prefix('"') {
            out.push('"');
            rest = closed;
        }
    }
    out.push_str(rest);
    *line = out;
}

/// Where a text ends that begins after a quotation mark: at the next one, or after `most` bytes of the text. An escaped
/// character counts as one byte.
fn end_of_text(text: &str, most: usize) -> usize {
    let (mut bytes, mut escaped) = (0usize, false);
    for (at, c) in text.char_indices() {
        if !escaped {
            bytes += c.len_utf8();
            if c == '"' || bytes > most {
                return at;
            }
        }
        escaped = c == '\\' && !escaped;
    }
    text.len()
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
fn cut(line: &mut String, width: usize, tail: Option<usize>) {
    // Without multi-byte characters and colours a short line is one of few bytes.
    if line.len() <= width || columns(line) <= width {
        return;
    }
    let is_kept = |end: &&str| columns(end) * 3 <= width * 2 || columns(end) + NAME <= width;
    let end = tail.and_then(|at| line.get(at..)).filter(is_kept).unwrap_or("").to_owned();
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
    fn texts_end_after_so_many_bytes() {
        let shortened = |text: &str, most| {
            let mut line = text.to_owned();
            shorten_texts(&mut line, most);
            line
        };
        let line = r#"f(name="cuInit", log="a\"b\\c"..., n=1) = 0"#;
        assert_eq!(shortened(line, 6), line);
        assert_eq!(shortened(line, 3), r#"f(name="cuI"..., log="a\"b"..., n=1) = 0"#);
        assert_eq!(shortened(line, 0), r#"f(name=""..., log=""..., n=1) = 0"#);
        assert_eq!(shortened("f(name=\"äöü\")", 4), "f(name=\"äö\"...)");
        assert_eq!(shortened("f(\"open", 2), "f(\"op\"...");
    }

    #[test]
    fn the_result_stays_behind_a_shortened_struct() {
        let mut line = "f(p=&{a=1, b=2, c=3, d=4, e=5, f=6, g=7, h=8}, other=1234567890) = OK <1us>".to_owned();
        let format = TextFormat { abbreviate: true, width: Some(60), ..TextFormat::default() };
        let marks = Marks { result: line.find(" = OK"), ..Marks::default() };
        shorten(&mut line, marks, &format);
        assert_eq!(line, "f(p=&{a=1, b=2, c=3, d=4, e=5, f=6, …}, other=12… = OK <1us>");
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
