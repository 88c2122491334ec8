//! `under:TERM`: calls of the functions that TERM picks, and all calls inside them. They are known when a call begins,
//! so that the tree below it stays whole. Each term has a bit: a call has the bits that it and the calls around it
//! fulfil.

use crate::event::Layer;
use cutap_calls::filter::{CHATTER, is_shown};
use cutap_calls::glob;

/// The prefix of the term.
pub(super) const UNDER: &str = "under:";

/// Terms in one filter at most: a bit of a word each.
pub(super) const MOST: usize = 64;

/// Of which functions a call must be, or be inside, and of which not. A term is its rules of the control page.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Ancestors {
    /// At least one of these.
    required: Vec<String>,
    /// None of these.
    excluded: Vec<String>,
}

impl Ancestors {
    /// Adds a term.
    pub fn add(&mut self, is_wanted: bool, rules: String) {
        if is_wanted { self.required.push(rules) } else { self.excluded.push(rules) }
    }

    /// It asks for nothing.
    pub fn is_empty(&self) -> bool {
        self.terms().next().is_none()
    }

    /// The rules of all terms.
    pub fn terms(&self) -> impl Iterator<Item = &String> {
        self.required.iter().chain(&self.excluded)
    }

    /// The bits of its terms that a function fulfils.
    pub fn bits(&self, layer: Layer, library: &str, name: &str) -> u64 {
        let picks = |rules: &str| is_shown(rules.as_bytes(), layer.number(), library.as_bytes(), name.as_bytes());
        let fulfilled = self.terms().enumerate().filter(|(_, rules)| picks(rules));
        fulfilled.fold(0, |bits, (n, _)| bits | 1 << n)
    }

    /// Whether a call is wanted that has these bits of its terms.
    pub fn accepts(&self, bits: u64) -> bool {
        let required = 1u64.unbounded_shl(self.required.len() as u32).wrapping_sub(1);
        (self.required.is_empty() || bits & required != 0) && bits & !required == 0
    }
}

/// The bits of several, those of the first one lowest.
pub(super) fn bits_of_all(all: &[Ancestors], layer: Layer, library: &str, name: &str) -> u64 {
    let add = |(bits, from): (u64, u32), of: &Ancestors| {
        let own = of.bits(layer, library, name).unbounded_shl(from);
        (bits | own, from + of.terms().count() as u32)
    };
    all.iter().fold((0, 0), add).0
}

/// Whether all of them accept a call.
pub(super) fn all_accept(all: &[Ancestors], bits: u64) -> bool {
    let mut from = 0;
    all.iter().all(|of| {
        let count = of.terms().count() as u32;
        let own = bits.unbounded_shr(from) & 1u64.unbounded_shl(count).wrapping_sub(1);
        from += count;
        of.accepts(own)
    })
}

/// The rules with those that record the calls around, where rules restrict what is recorded. `excludes_inside`: what is
/// excluded is not needed.
pub(super) fn recorded_rules(all: &[Ancestors], rules: &str, excludes_inside: bool) -> String {
    let is_restricted = rules.lines().any(restricts);
    let terms = all.iter().flat_map(Ancestors::terms).flat_map(|rules| rules.lines());
    let rules_around = terms.filter(|rule| is_restricted || !restricts(rule)).map(|rule| format!("{rule}\n"));
    let beside = if excludes_inside { rules.to_owned() } else { rules_beside(all, rules) };
    std::iter::once(beside).chain(rules_around).collect()
}

/// The rules without those by which a call around would not be recorded. A reader leaves out what they leave out.
fn rules_beside(all: &[Ancestors], rules: &str) -> String {
    let hides = |rule: &str| all.iter().flat_map(Ancestors::terms).flat_map(|of| of.lines()).any(|of| hides(rule, of));
    rules.lines().filter(|rule| !rule.starts_with('-') || !hides(rule)).map(|rule| format!("{rule}\n")).collect()
}

/// Whether a rule may leave out functions that another one adds.
fn hides(rule: &str, adding: &str) -> bool {
    fn words(rule: &str) -> Option<[&str; 3]> {
        let mut words = rule.get(1..)?.splitn(3, ' ');
        Some([words.next()?, words.next()?, words.next()?])
    }
    let (Some([letter, library, name]), Some([of, of_library, of_name])) = (words(rule), words(adding)) else {
        return false;
    };
    let nvtx = Layer::NVTX.letter().to_string();
    let both_names = if name == CHATTER { of != nvtx } else { overlap(name, of_name) };
    let both_layers = letter == of || [letter, of].contains(&"*");
    both_layers && overlap(library, of_library) && both_names
}

/// Whether a name may match both patterns.
fn overlap(a: &str, b: &str) -> bool {
    let is_pattern = |text: &str| text.contains(['*', '?']);
    let fixed = |text: &str| text.find(['*', '?']).unwrap_or(text.len());
    let (start, other_start) = (&a[..fixed(a)], &b[..fixed(b)]);
    match (is_pattern(a), is_pattern(b)) {
        (true, true) => start.starts_with(other_start) || other_start.starts_with(start),
        (false, _) => glob(b.as_bytes(), a.as_bytes()),
        (_, false) => glob(a.as_bytes(), b.as_bytes()),
    }
}

/// Whether a rule of the control page adds functions, so that others are left out. A rule for a whole layer that is off
/// by default adds it to the others.
fn restricts(rule: &str) -> bool {
    let is_asked = |letter: &u8| cutap_calls::Layer::of_letter(*letter).is_some_and(cutap_calls::Layer::is_asked);
    let adds_layer = rule.ends_with(" * *") && rule.as_bytes().get(1).is_some_and(is_asked);
    rule.starts_with('+') && !adds_layer
}

#[cfg(test)]
mod tests {
    use crate::event::Layer;
    use crate::filter::Filter;

    fn accepts(text: &str, around: &[&str]) -> bool {
        let filter = Filter::parse(text).unwrap();
        let bits = |name: &&str| {
            let library = name.starts_with("cublas");
            let layer = if library { Layer::LIBRARY } else { Layer::RUNTIME };
            filter.ancestor_bits(layer, if library { "libcublas.so.12" } else { "app" }, name)
        };
        filter.accepts_ancestors(around.iter().map(bits).fold(0, |all, of| all | of))
    }

    #[test]
    fn at_least_one_of_the_terms() {
        assert!(accepts("under:cudaMalloc", &["cudaMalloc"]) && !accepts("under:cudaMalloc", &["cudaFree"]));
        assert!(accepts("under:cuda*", &["cudaFree"]) && !accepts("under:cuda*", &[]));
        assert!(accepts("under:cublas,under:cudaFree", &["cublasSgemm_v2", "cudaMalloc"]));
        assert!(accepts("under:cudaFree,under:cublas", &["cublasSgemm_v2"]));
    }

    #[test]
    fn none_of_the_terms_with_not() {
        assert!(!accepts("!under:cublas", &["cublasSgemm_v2", "cudaMalloc"]) && accepts("!under:cublas", &[]));
        assert!(!accepts("under:cudaMalloc,!under:cublas", &["cublasSgemm_v2", "cudaMalloc"]));
    }

    #[test]
    fn all_of_the_parts() {
        assert!(accepts("under:cublas & under:cudaMalloc", &["cublasSgemm_v2", "cudaMalloc"]));
        assert!(!accepts("under:cublas & under:cudaMalloc", &["cublasSgemm_v2"]));
    }

    #[test]
    fn what_is_around_is_recorded() {
        let recorded = |text: &str| Filter::parse(text).unwrap().recorded(false);
        assert_eq!(recorded("under:cudaFree"), "");
        assert_eq!(recorded("cudaEventQuery,under:cudaFree"), {
            "+* * cudaEventQuery\n+* * cudaEventQuery_*\n+* * cudaFree\n+* * cudaFree_*\n"
        });
        assert_eq!(recorded("under:hidden"), "+h * *\n");
        assert_eq!(recorded("driver & under:step 7"), "+d * *\n+n * step 7\n");
        assert_eq!(recorded("driver,!under:step 7"), "+d * *\n+n * step 7\n");
        // What a reader leaves out may be needed to know what is inside.
        assert_eq!(recorded("driver,!nvtx,under:step 7"), "+d * *\n+n * step 7\n");
        assert_eq!(
            recorded("driver,!cuMem*,!chatter,under:step 7"),
            "+d * *\n-* * cuMem*\n-* * ~chatter\n+n * step 7\n"
        );
        assert_eq!(recorded("!cuda*,under:cudaMalloc"), "");
        assert_eq!(recorded("!cudaFree,under:cudaMalloc"), "-* * cudaFree\n-* * cudaFree_*\n");
    }

    #[test]
    fn refusals() {
        for text in ["under:", "under:error", "under:cuMemAlloc[bytesize>1]", "under:pid:7", "under:lookup"] {
            let sentence = Filter::parse(text).unwrap_err().to_string();
            assert!(sentence.contains("under:") || sentence.contains("empty"), "{text}: {sentence}");
        }
    }
}
