//! Suggestions for a misspelled name.

use std::collections::BTreeSet;

/// Names at most this many.
const MOST: usize = 3;

/// The nearest of `names`: those that contain the word, and those with few letters changed.
pub(super) fn nearest(word: &str, names: impl Iterator<Item = &'static str>) -> Vec<&'static str> {
    let lower = word.to_ascii_lowercase();
    let allowed = (word.len() / 4).clamp(1, 4);
    let mut found: BTreeSet<(usize, &str)> = BTreeSet::new();
    for name in names {
        let other = name.to_ascii_lowercase();
        if lower.len() > 3 && other.contains(&lower) {
            found.insert((1 + other.len() - lower.len(), name));
        } else if other.len().abs_diff(lower.len()) <= allowed {
            let distance = distance(lower.as_bytes(), other.as_bytes());
            if distance <= allowed {
                found.insert((distance, name));
            }
        }
    }
    found.into_iter().take(MOST).map(|(_, name)| name).collect()
}

/// Letters to add, drop or change.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut corner = i;
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = corner + usize::from(x != y);
            corner = row[j + 1];
            row[j + 1] = change.min(corner + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_names() {
        assert_eq!((distance(b"abc", b"abc"), distance(b"", b"ab"), distance(b"kitten", b"sitting")), (0, 2, 3));
        let names = || ["cuMemAlloc", "cuMemAlloc_v2", "cuMemFree"].into_iter();
        assert_eq!(nearest("cuMemAloc", names())[0], "cuMemAlloc");
        assert_eq!(nearest("memalloc", names()), ["cuMemAlloc", "cuMemAlloc_v2"]);
        assert!(nearest("nothing", names()).is_empty());
    }
}
