//! The parameter list of a kernel in PTX: names and types. The text comes from a process and may be anything; text that
//! is not understood gives no list.
//!
//! Limits: PTX in a file is read only by `cutap trace` while it follows the program, if the call is recorded and
//! the file is unchanged. `.u32` of a compiler's PTX may be a signed number. If modules have kernels of one name
//! and the same sizes with different lists, no list is used. A kernel of that name without PTX gets the one list
//! that exists.

use std::sync::Arc;

/// Parameters of a kernel at most; the driver takes 4 KiB, later 32 KiB.
const MOST: usize = 4096;

/// A kernel's parameters as PTX has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The kernel's name, mangled.
    pub name: String,
    pub parameters: Vec<Parameter>,
    /// Names, in the same order; empty where the compiler made one up.
    pub names: Arc<[Box<str>]>,
}

/// One parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// Bytes in all.
    pub size: u32,
    pub kind: Kind,
}

/// What PTX says of a parameter's type. Compilers write `.u32` for signed numbers too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Pointer,
    Signed,
    /// Bits, or an unsigned number.
    Unsigned,
    Float,
    BFloat16,
    /// A struct, a vector.
    Other,
}

impl Entry {
    /// Reads `.entry name(.param .u32 n, .param .align 8 .b8 s[16])`.
    pub fn parse(text: &[u8]) -> Option<Entry> {
        let text = str::from_utf8(text).ok()?;
        let words = words(text.strip_prefix(".entry")?)?;
        let mut words = words.iter().copied();
        let name = words.next().filter(|w| is_name(w))?;
        words.next().filter(|w| *w == "(")?;
        let (mut parameters, mut names) = (Vec::new(), Vec::<Box<str>>::new());
        let mut one = Vec::new();
        let mut closed = false;
        for word in words.by_ref() {
            closed = word == ")";
            match word {
                ")" if one.is_empty() && parameters.is_empty() => {}
                "," | ")" => {
                    let (parameter, own) = parameter(&one)?;
                    let made_up = own.strip_prefix(name).is_some_and(|n| n.starts_with("_param_"));
                    names.push(if made_up { Box::default() } else { own.into() });
                    parameters.push(parameter);
                    one.clear();
                }
                _ => one.push(word),
            }
            if closed || parameters.len() > MOST {
                break;
            }
        }
        let whole = closed && words.next().is_none();
        whole.then(|| Entry { name: name.to_owned(), parameters, names: names.into() })
    }

    /// Whether the parameters have these sizes.
    pub fn has_sizes(&self, sizes: impl ExactSizeIterator<Item = u32>) -> bool {
        self.parameters.len() == sizes.len() && self.parameters.iter().zip(sizes).all(|(p, size)| p.size == size)
    }
}

/// `.param .align 4 .b8 name [ 16 ]`, `.param .u64 .ptr .global .align 8 name`.
fn parameter<'a>(words: &[&'a str]) -> Option<(Parameter, &'a str)> {
    let mut rest = words.iter().copied().peekable();
    rest.next().filter(|w| *w == ".param")?;
    let (mut element, mut vector, mut pointer, mut name, mut many) = (None, 1u32, false, None, None);
    while let Some(word) = rest.next() {
        match word {
            ".align" => drop(rest.next()?.parse::<u32>().ok()?),
            ".ptr" => pointer = true,
            "[" => {
                let count = rest.next()?.parse::<u32>().ok()?;
                rest.next().filter(|w| *w == "]")?;
                many = Some(many.unwrap_or(1u32).checked_mul(count)?);
            }
            ".v2" => vector = 2,
            ".v4" => vector = 4,
            ".global" | ".const" | ".shared" | ".local" if pointer => {}
            _ if word.starts_with('.') => element = Some(scalar(word)?),
            _ if is_name(word) && name.is_none() => name = Some(word),
            _ => return None,
        }
    }
    let (size, kind) = element?;
    let kind = match (many, vector) {
        (None, 1) if pointer && size == 8 => Kind::Pointer,
        (None, 1) => kind,
        _ => Kind::Other,
    };
    Some((Parameter { size: size.checked_mul(vector)?.checked_mul(many.unwrap_or(1))?, kind }, name?))
}

fn scalar(word: &str) -> Option<(u32, Kind)> {
    Some(match word {
        ".f16x2" | ".bf16x2" => (4, Kind::Other),
        ".bf16" => (2, Kind::BFloat16),
        ".texref" | ".samplerref" | ".surfref" => (8, Kind::Other),
        _ => {
            let kind = match word.as_bytes().get(1)? {
                b'u' | b'b' => Kind::Unsigned,
                b's' => Kind::Signed,
                b'f' => Kind::Float,
                _ => return None,
            };
            let bits = word.get(2..)?.parse::<u32>().ok().filter(|n| [8, 16, 32, 64, 128].contains(n))?;
            if bits == 128 { (16, Kind::Other) } else { (bits / 8, kind) }
        }
    })
}

fn is_name(word: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%');
    word.chars().all(letter) && !word.starts_with(|c: char| c.is_ascii_digit())
}

/// Words and signs, without comments; `None` when a comment has no end.
fn words(text: &str) -> Option<Vec<&str>> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        if let Some(comment) = rest.strip_prefix("//") {
            rest = comment.split_once('\n')?.1;
        } else if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.split_once("*/")?.1;
        } else {
            let sign = rest.starts_with(['(', ')', ',', '[', ']']);
            // `.param.f64` is as good as `.param .f64`.
            let ends = |(at, c): (usize, char)| c.is_whitespace() || "(),[]/".contains(c) || c == '.' && at > 0;
            let end = rest.char_indices().find(|c| ends(*c)).map_or(rest.len(), |(at, _)| at);
            let (word, more) = rest.split_at_checked(if sign { 1 } else { end.max(1) })?;
            words.push(word);
            rest = more;
        }
        rest = rest.trim_start();
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(text: &str) -> Option<Vec<(u32, Kind, String)>> {
        let entry = Entry::parse(text.as_bytes())?;
        let all = entry.parameters.iter().zip(entry.names.iter());
        Some(all.map(|(p, name)| (p.size, p.kind, name.to_string())).collect())
    }

    #[test]
    fn lists() {
        let one = |size, kind, name: &str| (size, kind, name.to_owned());
        assert_eq!(
            of(".entry k (\n\t.param .u64 .ptr .global .align 8 a, // (\n .param .s32 n,.param .f64 x /* , */)"),
            Some(vec![one(8, Kind::Pointer, "a"), one(4, Kind::Signed, "n"), one(8, Kind::Float, "x")])
        );
        assert_eq!(
            of(".entry _Z1kPf(\n.param .u64 _Z1kPf_param_0,\n.param .align 8 .b8 _Z1kPf_param_1[24]\n)"),
            Some(vec![one(8, Kind::Unsigned, ""), one(24, Kind::Other, "")])
        );
        assert_eq!(
            of(".entry k(.param.f64 x,.param.align 4.b8 s[8],.param .texref t)"),
            Some(vec![one(8, Kind::Float, "x"), one(8, Kind::Other, "s"), one(8, Kind::Other, "t")])
        );
        assert_eq!(of(".entry none()"), Some(vec![]));
        assert_eq!(of(".entry v(.param .v4 .f32 q)"), Some(vec![one(16, Kind::Other, "q")]));
        for bad in [
            "",
            ".entry",
            ".entry k",
            ".entry k(",
            ".entry k(.param .u32 n",
            ".entry k(.param .u32 n,)",
            ".entry k(.param .u31 n)",
            ".entry k(.param n)",
            ".entry k(.reg .u32 n)",
            ".entry k(.param .u32 n m)",
            ".entry k(.param .b8 n[4294967295][9])",
            ".entry k(.param .u32 n) more",
            ".entry 9(.param .u32 n)",
            ".entry k(.param .u32 n // )",
        ] {
            assert_eq!(of(bad), None, "{bad}");
        }
    }

    #[test]
    fn sizes() {
        let entry = Entry::parse(b".entry k(.param .u64 a, .param .u32 n)").unwrap();
        assert!(entry.has_sizes([8, 4].into_iter()));
        assert!(!entry.has_sizes([8, 8].into_iter()) && !entry.has_sizes([8].into_iter()));
    }

    proptest! {
        #[test]
        fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            Entry::parse(&bytes);
        }

        #[test]
        fn any_words(words in prop::collection::vec(prop::sample::select(&[
            ".entry", ".param", ".u32", ".u64", ".f32", ".b8", ".align", "8", "k", "k_param_0", "n", "(", ")", "[", "]", ",", "/*",
            "*/", "//", "\n", ".ptr", ".global", ".v2", "99999999999", "\u{e9}",
        ][..]), 0..40)) {
            if let Some(entry) = Entry::parse(format!(".entry {}", words.join(" ")).as_bytes()) {
                prop_assert_eq!(entry.parameters.len(), entry.names.len());
                prop_assert!(entry.parameters.len() <= words.len());
            }
        }
    }
}
