//! Identifiers that are one everyday word where the field has a term: `told`, `asked`, `left`, `over`.
//! Functions, fields and locals are counted in each crate. A number in `everyday_words.toml` may only
//! shrink. Of ripgrep, samply, mirrord and rustix at most 0.2 % of each kind are such words.

use super::imports::{Files, crates};
use super::ratchet::{self, Counts, add, number};
use anyhow::Result;
use std::path::Path;
use syn::visit::{self, Visit};

/// The allowed numbers, under the root.
const LIMITS: &str = "xtask/src/tidy/everyday_words.toml";
/// Identifiers that a complaint lists.
const LISTED: usize = 20;

/// In order.
const WORDS: [&str; 76] = [
    "again",
    "anew",
    "around",
    "ask",
    "asked",
    "asks",
    "before_after",
    "began",
    "begun",
    "behind",
    "done",
    "ended",
    "ends",
    "found",
    "given",
    "gives",
    "goes",
    "going",
    "gone",
    "held",
    "holds",
    "how",
    "keeps",
    "kept",
    "knows",
    "known",
    "know",
    "learn",
    "learned",
    "leave",
    "leaves",
    "left",
    "lent",
    "look",
    "looked",
    "looks",
    "loud",
    "made",
    "make",
    "makes",
    "meant",
    "means",
    "never",
    "note",
    "noted",
    "other",
    "others",
    "over",
    "passed",
    "passes",
    "past",
    "puts",
    "quiet",
    "said",
    "say",
    "says",
    "seen",
    "shown",
    "shows",
    "stands",
    "stay",
    "stays",
    "still",
    "taken",
    "takes",
    "tell",
    "tells",
    "thing",
    "things",
    "told",
    "wanted",
    "wants",
    "what",
    "where",
    "who",
    "whose",
];

pub(super) fn check(root: &Path, wrong: &mut Vec<String>) -> Result<()> {
    wrong.extend(complaints(&findings(root)?, &ratchet::read(root, LIMITS)?));
    Ok(())
}

/// Lowers the allowed numbers to the present ones.
pub(super) fn shrink(root: &Path) -> Result<()> {
    ratchet::shrink(root, LIMITS, "Identifiers of one everyday word", &counts(&findings(root)?))
}

struct Finding {
    /// `functions`, `fields` or `locals`.
    kind: &'static str,
    /// `crates/wire`.
    place: String,
    name: String,
}

fn findings(root: &Path) -> Result<Vec<Finding>> {
    let mut all = Vec::new();
    for (name, path) in crates(root)? {
        let place = format!("crates/{name}");
        for source in Files::read(&path.join("src"))?.all.values() {
            let mut names = Names::default();
            names.visit_file(&source.syntax);
            all.extend(names.0.into_iter().map(|(kind, name)| Finding { kind, place: place.clone(), name }));
        }
    }
    Ok(all)
}

fn counts(findings: &[Finding]) -> Counts {
    let mut counts = Counts::new();
    findings.iter().for_each(|finding| add(&mut counts, finding.kind, &finding.place));
    counts
}

fn complaints(findings: &[Finding], allowed: &Counts) -> Vec<String> {
    let mut wrong = Vec::new();
    for (kind, places) in &counts(findings) {
        for (place, count) in places {
            let limit = number(allowed, kind, place);
            if *count > limit {
                let of = findings.iter().filter(|finding| finding.kind == kind && finding.place == *place);
                let mut names: Vec<&str> = of.map(|finding| finding.name.as_str()).collect();
                names.sort_unstable();
                names.dedup();
                names.truncate(LISTED);
                let names = names.join(", ");
                wrong.push(format!("{place}: {count} {kind} are one everyday word, {limit} are allowed: {names}"));
            }
        }
    }
    wrong
}

/// Identifiers of one everyday word. Unit tests are left out.
#[derive(Default)]
struct Names(Vec<(&'static str, String)>);

impl Names {
    fn add(&mut self, kind: &'static str, name: &syn::Ident) {
        let name = name.to_string();
        if WORDS.contains(&name.as_str()) {
            self.0.push((kind, name));
        }
    }
}

impl<'a> Visit<'a> for Names {
    fn visit_item_mod(&mut self, item: &'a syn::ItemMod) {
        if !super::imports::is_test(item) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_signature(&mut self, signature: &'a syn::Signature) {
        self.add("functions", &signature.ident);
        visit::visit_signature(self, signature);
    }

    fn visit_field(&mut self, field: &'a syn::Field) {
        field.ident.iter().for_each(|name| self.add("fields", name));
        visit::visit_field(self, field);
    }

    fn visit_local(&mut self, local: &'a syn::Local) {
        let mut bound = Bound::default();
        bound.visit_pat(&local.pat);
        bound.0.iter().for_each(|name| self.add("locals", name));
        visit::visit_local(self, local);
    }
}

/// The names that a pattern binds.
#[derive(Default)]
struct Bound(Vec<syn::Ident>);

impl<'a> Visit<'a> for Bound {
    fn visit_pat_ident(&mut self, pattern: &'a syn::PatIdent) {
        self.0.push(pattern.ident.clone());
        visit::visit_pat_ident(self, pattern);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_fields_and_locals() {
        let source = "struct A { told: u8, size: u8 } fn left(a: A) { let (mut seen, n) = f(); let asked = 1; }
            #[cfg(test)] mod tests { fn over() {} }";
        let mut names = Names::default();
        names.visit_file(&syn::parse_file(source).unwrap());
        let named =
            |kind| names.0.iter().filter(|(of, _)| *of == kind).map(|(_, name)| name.as_str()).collect::<Vec<_>>();
        assert_eq!(
            (named("functions"), named("fields"), named("locals")),
            (vec!["left"], vec!["told"], vec!["seen", "asked"])
        );
    }

    #[test]
    fn more_than_allowed_is_named() {
        let finding = || Finding { kind: "fields", place: "crates/a".to_owned(), name: "told".to_owned() };
        let allowed: Counts = toml::from_str("fields = { \"crates/a\" = 1 }").unwrap();
        assert!(complaints(&[finding()], &allowed).is_empty());
        let wrong = complaints(&[finding(), finding()], &allowed);
        assert!(wrong.len() == 1 && wrong[0].ends_with("told"), "{wrong:?}");
    }
}
