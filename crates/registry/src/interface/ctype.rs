//! C types as the files of `api/` write them: `const CUlaunchConfig *`, `void *const *`, `int[16]`.
//! Syntax only; what a name means is for `types`.

/// A C type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CType {
    /// A name: `unsigned int`, `CUdeviceptr`; with true: const.
    Name(String, bool),
    Pointer(Box<CType>),
    /// An array inside a struct.
    Array(Box<CType>, u32),
    /// A pointer to a function.
    Code,
}

impl CType {
    /// The name, without const.
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            CType::Name(name, _) => Some(name),
            _ => None,
        }
    }

    /// Whether it may not be written.
    pub(crate) fn is_const(&self) -> bool {
        matches!(self, CType::Name(_, true))
    }
}

/// Reads a type; `None` when it is no type.
pub(crate) fn parse(text: &str) -> Option<CType> {
    let mut text = text.trim();
    if text == "code" || text.contains("(*") || text.contains("( *") {
        return Some(CType::Code);
    }
    let mut counts = Vec::new();
    while let Some(rest) = text.strip_suffix(']') {
        let (before, count) = rest.rsplit_once('[')?;
        counts.push(count.trim().parse().ok()?);
        text = before.trim_end();
    }
    let mut words: Vec<&str> = Vec::new();
    let mut constant = false;
    let mut parsed: Option<CType> = None;
    let spaced = text.replace(['*', '&'], " * ");
    for word in spaced.split_whitespace() {
        match (word, parsed.take()) {
            ("*", None) => parsed = Some(CType::Pointer(Box::new(base(&words, constant)?))),
            ("*", Some(to)) => parsed = Some(CType::Pointer(Box::new(to))),
            ("const" | "volatile" | "__restrict__" | "restrict", Some(to)) => parsed = Some(to),
            ("const", None) => constant = true,
            ("volatile" | "struct" | "union" | "enum", None) => {}
            (_, Some(_)) => return None,
            (word, None) => words.push(word),
        }
    }
    let mut ty = match parsed {
        Some(ty) => ty,
        None => base(&words, constant)?,
    };
    for count in counts {
        ty = CType::Array(Box::new(ty), count);
    }
    Some(ty)
}

/// A name; the many spellings of C's own integers become one each.
fn base(words: &[&str], constant: bool) -> Option<CType> {
    let mut sorted: Vec<&str> = words.iter().copied().filter(|w| !matches!(*w, "int" | "signed")).collect();
    sorted.sort_unstable();
    let name = match sorted.as_slice() {
        [] if words.is_empty() => return None,
        [] => "int".to_owned(),
        ["char"] if words.contains(&"signed") => "signed char".to_owned(),
        [one] => match *one {
            "unsigned" => "unsigned int".to_owned(),
            other => other.to_owned(),
        },
        ["long", "long"] => "long long".to_owned(),
        ["long", "unsigned"] => "unsigned long".to_owned(),
        ["long", "long", "unsigned"] => "unsigned long long".to_owned(),
        ["char", "unsigned"] => "unsigned char".to_owned(),
        ["short", "unsigned"] => "unsigned short".to_owned(),
        _ => return None,
    };
    Some(CType::Name(name, constant))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, constant: bool) -> CType {
        CType::Name(name.into(), constant)
    }

    fn pointer(to: CType) -> CType {
        CType::Pointer(Box::new(to))
    }

    #[test]
    fn types() {
        assert_eq!(parse("const void *"), Some(pointer(named("void", true))));
        assert_eq!(parse("void *const *"), Some(pointer(pointer(named("void", false)))));
        assert_eq!(parse("struct cudaExtent"), Some(named("cudaExtent", false)));
        assert_eq!(parse("CUstream const *"), Some(pointer(named("CUstream", true))));
        assert_eq!(parse("unsigned long long int"), Some(named("unsigned long long", false)));
        assert_eq!(parse("long long unsigned"), Some(named("unsigned long long", false)));
        assert_eq!(parse("unsigned"), Some(named("unsigned int", false)));
        assert_eq!(parse("short int"), Some(named("short", false)));
        assert_eq!(parse("signed int"), Some(named("int", false)));
        assert_eq!(parse("void (*)(void *)"), Some(CType::Code));
        let two = CType::Array(Box::new(CType::Array(Box::new(named("int", false)), 3)), 2);
        assert_eq!(parse("int[2][3]"), Some(two));
        for bad in ["", "int[x]", "* int", "int * int", "unsigned float"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
