//! The declaration of a kernel: its name, its list of parameters and its directives.

use super::declaration::{Declaration, Kind};
use super::words::{is_name, starts_with_digit, without_comments, words};
use crate::MOST_PARAMETERS;

/// A kernel of PTX.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// Its name, mangled.
    pub name: String,
    /// Its parameters in order.
    pub parameters: Vec<Parameter>,
    /// Most threads of a block (`.maxntid`).
    pub max_threads: Option<u32>,
    /// Whether the text ends with a list of parameters of which all was understood.
    pub is_exact: bool,
}

/// A parameter of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Its first byte in the block of parameters.
    pub offset: u64,
    /// Its bytes.
    pub size: u64,
    /// Its type.
    pub kind: Kind,
}

impl Kernel {
    /// Reads what follows `.entry`: `name(.param .u32 n, .param .align 8 .b8 s[16]) .maxntid 256, 1, 1`. `None` for
    /// what a compiler rejects.
    pub fn parse(text: &str) -> Option<Self> {
        Self::parse_plain(&without_comments(text))
    }

    pub(super) fn parse_plain(text: &str) -> Option<Self> {
        let words = words(text)?;
        let (name, rest) = words.split_first().filter(|(name, _)| is_name(name))?;
        let (list, directives) = match rest.split_first() {
            Some((&"(", rest)) => {
                let (list, rest) = rest.split_at(rest.iter().position(|word| *word == ")")?);
                (Some(list), rest.get(1..)?)
            }
            _ => (None, rest),
        };
        // Without a list, a parenthesis is one of a list that did not begin.
        let is_wrong = match list {
            Some(list) => list.contains(&"(") || directives.first() == Some(&")"),
            None => directives.iter().any(|word| matches!(*word, "(" | ")")),
        };
        if is_wrong {
            return None;
        }
        let (parameters, is_clear) = parameters(list.unwrap_or_default())?;
        let is_exact = list.is_some() && directives.is_empty() && is_clear;
        Some(Self { name: (*name).to_owned(), parameters, max_threads: max_threads(directives), is_exact })
    }
}

/// The parameters of a list, and whether all of it was understood.
fn parameters(list: &[&str]) -> Option<(Vec<Parameter>, bool)> {
    let (mut parameters, mut end, mut is_clear) = (Vec::new(), 0, true);
    for words in list.split(|word| *word == ",").filter(|_| !list.is_empty()) {
        let at = words.iter().position(|word| *word == ".param")?;
        let declaration = Declaration::parse(words.get(at + 1..)?)?;
        is_clear &= at == 0 && declaration.is_clear && declaration.name.is_some();
        let offset = u64::checked_next_multiple_of(end, declaration.align)?;
        let Declaration { size, kind, .. } = declaration;
        end = offset.checked_add(size).filter(|end| *end <= MOST_PARAMETERS)?;
        parameters.push(Parameter { name: declaration.name.map(str::to_owned), offset, size, kind });
    }
    Some((parameters, is_clear))
}

/// The product of the sides of `.maxntid`.
fn max_threads(directives: &[&str]) -> Option<u32> {
    let at = directives.iter().position(|word| *word == ".maxntid")?;
    let sides = directives.get(at + 1..)?.iter().take_while(|word| **word == "," || starts_with_digit(word));
    Some(sides.filter_map(|side| side.parse::<u32>().ok()).fold(1, u32::saturating_mul))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(text: &str) -> Option<Vec<(u64, Kind, String)>> {
        let kernel = Kernel::parse(text).filter(|kernel| kernel.is_exact)?;
        Some(kernel.parameters.into_iter().map(|p| (p.size, p.kind, p.name.unwrap())).collect())
    }

    #[test]
    fn lists() {
        let one = |size, kind, name: &str| (size, kind, name.to_owned());
        assert_eq!(
            of("k (\n\t.param .u64 .ptr .global .align 8 a, // (\n .param .s32 n,.param .f64 x /* , */)"),
            Some(vec![one(8, Kind::Pointer, "a"), one(4, Kind::Signed, "n"), one(8, Kind::Float, "x")])
        );
        assert_eq!(
            of("_Z1kPf(\n.param .u64 _Z1kPf_param_0,\n.param .align 8 .b8 _Z1kPf_param_1[24]\n)"),
            Some(vec![one(8, Kind::Unsigned, "_Z1kPf_param_0"), one(24, Kind::Other, "_Z1kPf_param_1")])
        );
        assert_eq!(
            of("k(.param.f64 x,.param.align 4.b8 s[8],.param .texref t)"),
            Some(vec![one(8, Kind::Float, "x"), one(8, Kind::Other, "s"), one(8, Kind::Other, "t")])
        );
        assert_eq!(of("none()"), Some(vec![]));
        assert_eq!(of("v(.param .v4 .f32 q)"), Some(vec![one(16, Kind::Other, "q")]));
        for bad in [
            "",
            "k",
            "k(",
            "k(.param .u32 n",
            "k(.param .u32 n,)",
            "k(.param .u31 n)",
            "k(.param n)",
            "k(.reg .u32 n)",
            "k(.param .u32 n m)",
            "k(.param .b8 n[4294967295][9])",
            "k(.param .u32 n) more",
            "9(.param .u32 n)",
            "k(.param .u32 n // )",
        ] {
            assert_eq!(of(bad), None, "{bad}");
        }
        assert_eq!(of(&format!("k({}.param .b8 n)", ".param .b8 n[0],".repeat(1 << 20))), None);
    }

    proptest! {
        #[test]
        fn any_text(text in ".{0,300}") {
            Kernel::parse(&text);
        }

        #[test]
        fn any_words(words in prop::collection::vec(prop::sample::select(&[
            ".entry", ".param", ".u32", ".u64", ".f32", ".b8", ".align", "8", "k", "k_param_0", "n", "(", ")", "[", "]",
            ",", "/*", "*/", "//", "\n", ".ptr", ".global", ".v2", "99999999999", "\u{e9}",
        ][..]), 0..40)) {
            for text in [words.join(" "), format!("k({})", words.join(" "))] {
                let count = Kernel::parse(&text).map_or(0, |kernel| kernel.parameters.len());
                prop_assert!(count <= words.len());
            }
        }
    }
}
