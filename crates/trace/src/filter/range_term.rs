//! `nvtx:NAME`, `nvtx:NAME@DOMAIN` and names in quotes: ranges and marks of the program. Their names are free text,
//! which no table has. A plain name without a function may be one: a reader looks it up in the run.

use super::refusal::{FilterError, nearest};
use cutap_calls::{FUNCTIONS, Layer, is_of_cuda};
use std::fmt::Write;

/// The prefix of the term.
const PREFIX: &str = "nvtx:";

/// The name in a term that picks ranges; none of other terms.
pub(super) fn range_name(word: &str) -> Option<&str> {
    let name = word.strip_prefix(PREFIX);
    let is_quoted = |word: &&str| word.len() > 1 && word.starts_with('"') && word.ends_with('"');
    name.or_else(|| Some(word).filter(is_quoted)).map(str::trim)
}

/// Whether a term that is no function's may name a range: free text, or a word without a similar function.
pub(super) fn may_be_range(word: &str) -> bool {
    let is_text = |c: char| c.is_alphanumeric() || " _-./#+@*?".contains(c);
    let names_file = word.contains(".so") || word.starts_with("lib");
    let is_name = !word.is_empty() && word.chars().all(is_text) && !names_file;
    is_name && !is_of_cuda(word) && (word.contains(' ') || nearest(word, FUNCTIONS).is_empty())
}

/// The rules for ranges of this name, or this pattern.
pub(super) fn rules_of(is_wanted: bool, name: &str) -> Result<String, FilterError> {
    let sign = if is_wanted { '+' } else { '-' };
    let letter = Layer::NVTX.letter();
    let text = name.strip_prefix('"').and_then(|name| name.strip_suffix('"')).unwrap_or(name);
    if text.is_empty() {
        return Err(FilterError(
            "nvtx: in the filter names no range; write it as nvtx:forward or nvtx:'step *'".into(),
        ));
    }
    let mut rules = String::new();
    // Writing to a string does not fail.
    let _ = writeln!(rules, "{sign}{letter} * {text}");
    // The name may have this character, too.
    if let Some((name, domain)) = text.rsplit_once('@').filter(|(name, domain)| !name.is_empty() && !domain.is_empty())
    {
        // Rules have spaces between their words.
        let _ = writeln!(rules, "{sign}{letter} {} {name}", domain.replace(' ', "?"));
    }
    Ok(rules)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::Filter;

    fn rules(text: &str) -> String {
        Filter::parse(text).unwrap().rules().to_owned()
    }

    #[test]
    fn names_of_ranges() {
        assert_eq!(rules("nvtx:inner,cuInit"), "+n * inner\n+* * cuInit\n+* * cuInit_*\n");
        assert_eq!(rules("nvtx:step 1, !nvtx:fp [16]"), "+n * step 1\n-n * fp [16]\n");
        assert_eq!(rules("nvtx:\"load, decode\""), "+n * load, decode\n");
        assert_eq!(rules("nvtx:step *"), "+n * step *\n");
        assert_eq!(rules("nvtx:red@My Domain"), "+n * red@My Domain\n+n My?Domain red\n");
        assert_eq!(rules("nvtx"), "+n * *\n");
        for text in ["nvtx:", "nvtx:\"\""] {
            assert!(Filter::parse(text).unwrap_err().to_string().contains("names no range"), "{text}");
        }
    }

    #[test]
    fn ranges_around_calls() {
        let around = |text: &str, layer: Layer, library: &str, name: &str| {
            let filter = Filter::parse(text).unwrap();
            filter.accepts_ancestors(filter.ancestor_bits(layer, library, name))
        };
        for text in ["under:nvtx:inner 2", "under:inner 2", "under:nvtx:inner 2@mine", "under:inner *"] {
            assert!(around(text, Layer::NVTX, "mine", "inner 2"), "{text}");
            assert!(!around(text, Layer::NVTX, "mine", "outer"), "{text}");
        }
        assert!(!around("under:inner", Layer::RUNTIME, "app", "inner"), "no function of the program");
        assert!(!around("under:nvtx:inner@mine", Layer::NVTX, "other", "inner"));
    }

    #[test]
    fn plain_names_need_a_run() {
        assert!(Filter::parse("inner").is_err() && Filter::parse("step 1").is_err());
        let of_run =
            |text: &str| Filter::parse_of_run(text, &["inner", "step 1"]).map(|filter| filter.rules().to_owned());
        assert_eq!(of_run("inner,cuInit").unwrap(), "+* * inner\n+* * inner_*\n+* * cuInit\n+* * cuInit_*\n");
        assert_eq!(of_run("!step 1").unwrap(), "-* * step 1\n-* * step 1_*\n");
        assert!(of_run("outer").is_err());
        for text in ["under:cudaMaloc", "under:cudaMalloc cudaFree", "under:a:b"] {
            assert!(Filter::parse(text).is_err(), "{text}");
        }
    }
}
