//! `api/kernel/overlay.toml`: what people say of the kernel interface that its headers do not.

use crate::error::{Error, Source};
use crate::interface::glob::glob;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use toml::Spanned;

/// What a number is, in the order of `rm`'s `Kind`, where 0 is a plain number.
pub(super) const KINDS: [&str; 16] = [
    "number", "status", "fd", "client", "object", "class", "control", "escape", "gpu", "bool", "uuid", "address",
    "bytes", "flags", "pid", "text",
];

/// The types of which a text or a UUID is made.
const BYTES: [&str; 4] = ["NvU8", "char", "uint8_t", "NvS8"];

/// The file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Overlay {
    pub(super) escapes: BTreeMap<String, Vec<String>>,
    pub(super) pointers: Vec<String>,
    pub(super) cuda: BTreeMap<String, String>,
    kinds: toml::map::Map<String, toml::Value>,
}

#[derive(Deserialize)]
struct Spans {
    kinds: Spanned<toml::Value>,
}

/// Rows of `[kinds]`, in the order of `KINDS`: a table of TOML has no order.
pub(super) struct Kinds(Vec<(String, u8)>);

impl Overlay {
    pub(super) fn read(path: &Path) -> Result<(Self, Kinds), Error> {
        let source = Source::read(path)?;
        let overlay: Self = source.parse()?;
        let at = source.parse::<Spans>()?.kinds.span().start;
        let mut rows = Vec::new();
        for (name, _) in &overlay.kinds {
            if !KINDS.contains(&name.as_str()) {
                return Err(source.error(at, format!("{name} is no kind, expected one of {}", KINDS.join(", "))));
            }
        }
        for (number, kind) in KINDS.iter().enumerate() {
            let patterns = overlay.kinds.get(*kind).and_then(toml::Value::as_array);
            for pattern in patterns.into_iter().flatten().filter_map(toml::Value::as_str) {
                rows.push((pattern.to_owned(), u8::try_from(number).unwrap_or(0)));
            }
        }
        Ok((overlay, Kinds(rows)))
    }
}

impl Kinds {
    /// The kind of a field: patterns of names come before those of types.
    pub(super) fn of(&self, record: &str, field: &str, ty: &str) -> u8 {
        let path = format!("{record}.{field}");
        let named = self.0.iter().find(|(p, _)| !p.starts_with(':') && glob(p.as_bytes(), path.as_bytes()));
        let typed =
            || self.0.iter().find(|(p, _)| p.strip_prefix(':').is_some_and(|p| glob(p.as_bytes(), ty.as_bytes())));
        let kind = named.or_else(typed).map_or(0, |(_, kind)| *kind);
        let of_bytes = ["uuid", "text"].iter().any(|k| KINDS.get(usize::from(kind)) == Some(k));
        if of_bytes && !BYTES.contains(&ty) { 0 } else { kind }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_before_types() {
        let kinds = Kinds(vec![("*.hClient".into(), 3), (":NvHandle".into(), 4), (":Nv*".into(), 9)]);
        assert_eq!(kinds.of("A", "hClient", "NvHandle"), 3);
        assert_eq!(kinds.of("A", "hOther", "NvHandle"), 4);
        assert_eq!(kinds.of("A", "x", "NvU32"), 9);
        assert_eq!(kinds.of("A", "x", "int"), 0);
        let text = Kinds(vec![("*.*Name".into(), 15)]);
        assert_eq!((text.of("A", "itsName", "char"), text.of("A", "itsName", "NvU32")), (15, 0));
    }
}
