//! The language of rules in `overlay.toml` (api/SCHEMA.md), as text. Siblings are names here; `rules`
//! turns them into numbers.

/// A rule as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RuleText {
    One,
    Text,
    Opaque,
    Extra,
    Memory(Option<CountText>),
    Host(Option<CountText>),
    /// So many elements of a type that a sibling announces by these tags.
    MemoryTyped {
        count: Option<String>,
        tags: String,
        by: String,
        times: Option<String>,
    },
    /// Rows of a pitch; the type of a channel by these tags, or in a struct.
    MemoryPlane(Option<String>, String),
    MemoryTensor(String, String),
    From(CountText, String),
    To(CountText, String),
    Array(CountText),
    Behind(CountText),
    Addresses(CountText, String),
    Either(CountText),
    TextOf(CountText),
    Texts(CountText),
    KernelParams(String, String),
    Tagged(String, String, Option<CountText>),
    OptionValues(String, CountText),
    Scalar(String, String),
    ScalarOr(String, String, String, String),
    Word(String, String),
}

/// A count as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CountText {
    Fixed(u32),
    Of(String),
    At(String),
    Least(String, String),
    Product(String, String),
    Times(String, u8),
    FieldAt(String, String),
    Rows { pitch: String, width: String, element: u8, height: String },
    RowsBy { pitch: String, width: String, element: String, height: String },
    Copied(u8),
    AtTimes(String, String),
    Volume(String, String),
    Less(String, u8),
    OneMore(String),
    Carried(String, String),
    ZeroEnded,
}

/// Sides of a copy that a struct describes, by what their fields begin with.
const COPIED: [&str; 3] = ["src", "dst", "pitchedDev"];

/// What a rule may be, for errors.
pub(crate) const EXPECTED: &str = "expected one, text, array(N), behind(N), addresses(N, bytes), text_of(N), texts(N), memory, memory(N), host, host(N), \
    either(N), from(N, kind), to(N, kind), opaque, tagged(TAGS, sibling[, N]), kernel_params(sibling[, sibling]), extra, option_values(keys, N), \
    scalar(TAGS, sibling), scalar(TAGS, sibling, TAGS, sibling) or word(TAGS, sibling)";

/// Reads a rule; `None` when it is none.
pub(crate) fn parse(text: &str) -> Option<RuleText> {
    let text = text.trim();
    let (word, arguments) = match text.split_once('(') {
        Some((word, rest)) => (word.trim(), split(rest.strip_suffix(')')?)),
        None => (text, Vec::new()),
    };
    let all: Vec<&str> = arguments.iter().map(String::as_str).collect();
    Some(match (word, all.as_slice()) {
        ("one", []) => RuleText::One,
        ("text", []) => RuleText::Text,
        ("opaque", []) => RuleText::Opaque,
        ("extra", []) => RuleText::Extra,
        ("memory", []) => RuleText::Memory(None),
        ("memory", [n]) if n.starts_with("typed(") => {
            let all = split(n.strip_prefix("typed(")?.strip_suffix(')')?);
            let [count, tags, by] = all.as_slice() else { return None };
            let (count, times) = match count.split_once('*') {
                Some((count, times)) => (count, Some(name(times.trim().strip_prefix("carried(")?.strip_suffix(')')?)?)),
                None => (count.as_str(), None),
            };
            let count = if count.trim() == "1" { None } else { Some(name(count)?) };
            RuleText::MemoryTyped { count, tags: name(tags)?, by: name(by)?, times }
        }
        ("memory", [n]) if n.starts_with("plane(") => {
            match split(n.strip_prefix("plane(")?.strip_suffix(')')?).as_slice() {
                [by] => RuleText::MemoryPlane(None, name(by)?),
                [tags, by] => RuleText::MemoryPlane(Some(name(tags)?), name(by)?),
                _ => return None,
            }
        }
        ("memory", [n]) if n.starts_with("tensor(") => {
            let all = split(n.strip_prefix("tensor(")?.strip_suffix(')')?);
            let [tags, by] = all.as_slice() else { return None };
            RuleText::MemoryTensor(name(tags)?, name(by)?)
        }
        ("memory", [n]) => RuleText::Memory(Some(count(n)?)),
        ("host", []) => RuleText::Host(None),
        ("host", [n]) => RuleText::Host(Some(count(n)?)),
        ("either", [n]) => RuleText::Either(count(n)?),
        ("from", [n, kind]) => RuleText::From(count(n)?, name(kind)?),
        ("to", [n, kind]) => RuleText::To(count(n)?, name(kind)?),
        ("array", [n]) => RuleText::Array(count(n)?),
        ("behind", [n]) => RuleText::Behind(count(n)?),
        ("addresses", [n, bytes]) => RuleText::Addresses(count(n)?, name(bytes)?),
        ("text_of", [n]) => RuleText::TextOf(count(n)?),
        ("texts", [n]) => RuleText::Texts(count(n)?),
        ("kernel_params", [s]) => RuleText::KernelParams(name(s)?, name(s)?),
        ("kernel_params", [s, or]) => RuleText::KernelParams(name(s)?, name(or)?),
        ("tagged", [t, s]) => RuleText::Tagged(name(t)?, name(s)?, None),
        ("tagged", [t, s, n]) => RuleText::Tagged(name(t)?, name(s)?, Some(count(n)?)),
        ("option_values", [k, n]) => RuleText::OptionValues(name(k)?, count(n)?),
        ("scalar", [t, s]) => RuleText::Scalar(name(t)?, name(s)?),
        ("scalar", [t, s, or, other]) => RuleText::ScalarOr(name(t)?, name(s)?, name(or)?, name(other)?),
        ("word", [t, s]) => RuleText::Word(name(t)?, name(s)?),
        _ => return None,
    })
}

impl RuleText {
    /// The siblings that it names.
    pub(crate) fn siblings(&self) -> Vec<&String> {
        match self {
            RuleText::One | RuleText::Text | RuleText::Opaque | RuleText::Extra => Vec::new(),
            RuleText::Memory(n) | RuleText::Host(n) => n.iter().flat_map(CountText::siblings).collect(),
            RuleText::Array(n) | RuleText::Behind(n) | RuleText::TextOf(n) | RuleText::Texts(n) => n.siblings(),
            RuleText::Either(n) => n.siblings(),
            RuleText::Scalar(_, s) | RuleText::Word(_, s) | RuleText::Tagged(_, s, None) => vec![s],
            RuleText::MemoryTyped { count, by, times, .. } => count.iter().chain([by]).chain(times).collect(),
            RuleText::MemoryPlane(_, by) | RuleText::MemoryTensor(_, by) => vec![by],
            RuleText::KernelParams(s, other) | RuleText::ScalarOr(_, s, _, other) => vec![s, other],
            RuleText::Tagged(_, s, Some(n))
            | RuleText::OptionValues(s, n)
            | RuleText::Addresses(n, s)
            | RuleText::From(n, s)
            | RuleText::To(n, s) => n.siblings().into_iter().chain([s]).collect(),
        }
    }
}

impl CountText {
    fn siblings(&self) -> Vec<&String> {
        match self {
            CountText::Fixed(_) | CountText::ZeroEnded | CountText::Copied(_) => Vec::new(),
            CountText::Of(s) | CountText::At(s) | CountText::Less(s, _) | CountText::OneMore(s) => vec![s],
            CountText::Times(s, _) | CountText::FieldAt(s, _) => vec![s],
            CountText::Rows { pitch, width, height, .. } => vec![pitch, width, height],
            CountText::RowsBy { pitch, width, element, height } => vec![pitch, width, element, height],
            CountText::Least(a, b) | CountText::Product(a, b) | CountText::Carried(a, b) => vec![a, b],
            CountText::AtTimes(a, b) | CountText::Volume(a, b) => vec![a, b],
        }
    }
}

/// Reads a count.
pub(crate) fn count(text: &str) -> Option<CountText> {
    let text = text.trim();
    if text == "zero_ended" {
        return Some(CountText::ZeroEnded);
    }
    if let Some(rest) = text.strip_prefix("min(") {
        let (a, b) = rest.strip_suffix(')')?.split_once(',')?;
        if let Some(handle) = b.trim().strip_prefix("carried(") {
            return Some(CountText::Carried(name(a)?, name(handle.strip_suffix(')')?)?));
        }
        return Some(CountText::Least(name(a)?, name(b.trim().strip_prefix('*')?)?));
    }
    if let Some(rest) = text.strip_prefix("volume(") {
        let (pitched, extent) = rest.strip_suffix(')')?.split_once(',')?;
        return Some(CountText::Volume(name(pitched)?, name(extent)?));
    }
    if let Some(rest) = text.strip_prefix("copied(") {
        let side = COPIED.iter().position(|side| *side == rest.strip_suffix(')').unwrap_or("").trim())?;
        return Some(CountText::Copied(side as u8));
    }
    if let Some(rest) = text.strip_prefix("rows(") {
        let all = split(rest.strip_suffix(')')?);
        let [pitch, width, height] = all.as_slice() else { return None };
        let (width, element) = width.split_once('*').unwrap_or((width, "1"));
        let (pitch, width, height) = (name(pitch)?, name(width)?, name(height)?);
        return Some(match element.trim().parse() {
            Ok(element) => CountText::Rows { pitch, width, element, height },
            Err(_) => CountText::RowsBy { pitch, width, element: name(element)?, height },
        });
    }
    if let Some((sibling, field)) = text.strip_prefix('*').and_then(|t| t.split_once('.')) {
        return Some(CountText::FieldAt(name(sibling)?, name(field)?));
    }
    if let Some(sibling) = text.strip_prefix('*') {
        return Some(match sibling.split_once('*') {
            Some((at, by)) => CountText::AtTimes(name(at)?, name(by)?),
            None => CountText::At(name(sibling)?),
        });
    }
    if let Some((a, b)) = text.split_once('*') {
        return Some(match b.trim().parse() {
            Ok(n) => CountText::Times(name(a)?, n),
            Err(_) => CountText::Product(name(a)?, name(b)?),
        });
    }
    if let Some((sibling, less)) = text.split_once('-') {
        return Some(CountText::Less(name(sibling)?, less.trim().parse().ok()?));
    }
    if let Some((sibling, more)) = text.split_once('+') {
        return if more.trim() == "1" { Some(CountText::OneMore(name(sibling)?)) } else { None };
    }
    match text.parse() {
        Ok(n) => Some(CountText::Fixed(n)),
        Err(_) => Some(CountText::Of(name(text)?)),
    }
}

fn name(text: &str) -> Option<String> {
    let text = text.trim();
    let letters = text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    (letters && !text.is_empty() && !text.starts_with(|c: char| c.is_ascii_digit())).then(|| text.to_owned())
}

/// Splits at the commas that stand in no brackets.
fn split(text: &str) -> Vec<String> {
    let (mut parts, mut depth) = (vec![String::new()], 0);
    for c in text.chars() {
        depth += i32::from(c == '(') - i32::from(c == ')');
        match (c, parts.last_mut()) {
            (',', _) if depth == 0 => parts.push(String::new()),
            (_, Some(last)) => last.push(c),
            _ => {}
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules() {
        let of = |s: &str| CountText::Of(s.into());
        assert_eq!(parse("memory(ByteCount)"), Some(RuleText::Memory(Some(of("ByteCount")))));
        assert_eq!(parse("array( *n )"), Some(RuleText::Array(CountText::At("n".into()))));
        assert_eq!(parse("array(min(a, *b))"), Some(RuleText::Array(CountText::Least("a".into(), "b".into()))));
        assert_eq!(parse("memory(w * h)"), Some(RuleText::Memory(Some(CountText::Product("w".into(), "h".into())))));
        assert_eq!(parse("tagged(T, s, 3)"), Some(RuleText::Tagged("T".into(), "s".into(), Some(CountText::Fixed(3)))));
        assert_eq!(parse("host"), Some(RuleText::Host(None)));
        let by = ["A", "a", "B", "b"].map(String::from);
        let [a, by_a, b, by_b] = by.clone();
        assert_eq!(parse("scalar(A, a, B, b)"), Some(RuleText::ScalarOr(a, by_a, b, by_b)));
        assert_eq!(parse("scalar(A, a, B, b)").unwrap().siblings(), [&by[1], &by[3]]);
        assert_eq!(parse("array(rank - 1)"), Some(RuleText::Array(CountText::Less("rank".into(), 1))));
        assert_eq!(parse("array(m + 1)"), Some(RuleText::Array(CountText::OneMore("m".into()))));
        assert_eq!(count("*pitch * height"), Some(CountText::AtTimes("pitch".into(), "height".into())));
        assert_eq!(count("N * 4"), Some(CountText::Times("N".into(), 4)));
        assert_eq!(count("*desc.size"), Some(CountText::FieldAt("desc".into(), "size".into())));
        let [pitch, width, height] = ["p", "w", "h"].map(String::from);
        assert_eq!(count("rows(p, w * 2, h)"), Some(CountText::Rows { pitch, width, element: 2, height }));
        let [pitch, width, element, height] = ["p", "w", "e", "h"].map(String::from);
        assert_eq!(count("rows(p, w * e, h)"), Some(CountText::RowsBy { pitch, width, element, height }));
        assert_eq!(parse("memory(copied(dst))"), Some(RuleText::Memory(Some(CountText::Copied(1)))));
        let typed = |count: Option<&str>, times: Option<&str>| {
            let (count, times) = (count.map(String::from), times.map(String::from));
            Some(RuleText::MemoryTyped { count, tags: "T".into(), by: "t".into(), times })
        };
        assert_eq!(parse("memory(typed(n, T, t))"), typed(Some("n"), None));
        assert_eq!(parse("memory(typed(1, T, t))"), typed(None, None));
        assert_eq!(parse("memory(typed(n * carried(c), T, t))"), typed(Some("n"), Some("c")));
        assert_eq!(parse("memory(typed(n * carried(c), T, t))").unwrap().siblings(), ["n", "t", "c"]);
        assert_eq!(parse("memory(plane(d))"), Some(RuleText::MemoryPlane(None, "d".into())));
        assert_eq!(parse("memory(plane(T, t))"), Some(RuleText::MemoryPlane(Some("T".into()), "t".into())));
        assert_eq!(parse("memory(tensor(T, t))"), Some(RuleText::MemoryTensor("T".into(), "t".into())));
        assert_eq!(parse("from(n, kind)").unwrap().siblings(), ["n", "kind"]);
        assert_eq!(parse("addresses(n, bytes)").unwrap().siblings(), ["n", "bytes"]);
        assert_eq!(count("volume(p, e)"), Some(CountText::Volume("p".into(), "e".into())));
        let carried = CountText::Carried("n".into(), "lib".into());
        assert_eq!(parse("array(min(n, carried(lib)))"), Some(RuleText::Array(carried)));
        assert_eq!(parse("kernel_params(f, k)").unwrap().siblings(), ["f", "k"]);
        assert_eq!(parse("array(zero_ended)"), Some(RuleText::Array(CountText::ZeroEnded)));
        for bad in [
            "",
            "array",
            "array()",
            "text(3)",
            "memory(1 2)",
            "array(min(a, b))",
            "array(min(a, carried(b))",
            "array(rank - 300)",
            "array(1 - rank)",
            "array(m + 2)",
            "memory(*a * )",
            "memory(volume(a))",
            "memory(n * 300)",
            "memory(rows(p, w))",
            "memory(rows(p, w * 300, h))",
            "memory(copied(a))",
            "memory(typed(n, T))",
            "array(typed(n, T, t))",
            "memory(typed(n * c, T, t))",
            "memory(typed(2, T, t))",
            "memory(plane())",
            "memory(tensor(T))",
            "from(n)",
            "kernel_params(a, b, c)",
            "tagged(a)",
            "array(n",
            "host(1, 2)",
            "scalar(A, a, B)",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
