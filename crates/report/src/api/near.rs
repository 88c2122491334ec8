//! Suggestions for the name of a function that does not exist.

use cutap_trace::did_you_mean;

/// Names at most this many.
const MOST: usize = 3;

/// Names that contain the word, the shortest first. Without any, similar names.
pub(super) fn nearest(word: &str, names: impl Iterator<Item = &'static str> + Clone) -> Vec<&'static str> {
    let lower = word.to_ascii_lowercase();
    let contains = |name: &&str| lower.len() > 3 && name.to_ascii_lowercase().contains(&lower);
    let mut candidates: Vec<&str> = names.clone().filter(contains).collect();
    candidates.sort_by_key(|name| (name.len(), *name));
    candidates.dedup();
    candidates.truncate(MOST);
    if candidates.is_empty() { did_you_mean(word, names) } else { candidates }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_names() {
        let names = || ["cuMemAlloc", "cuMemAlloc_v2", "cuMemFree"].into_iter();
        assert_eq!(nearest("cuMemAloc", names())[0], "cuMemAlloc");
        assert_eq!(nearest("memalloc", names()), ["cuMemAlloc", "cuMemAlloc_v2"]);
        assert!(nearest("nothing", names()).is_empty());
    }
}
