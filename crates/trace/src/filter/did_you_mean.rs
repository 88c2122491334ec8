//! Suggestions for a misspelt name, for messages alone: each candidate is compared.

use strsim::osa_distance;

/// The candidates within a few typing mistakes of a word, the nearest first: at most three, and none that is more than
/// one mistake farther than the nearest.
///
/// A mistake is a character that is added, left out, changed or swapped with its neighbour. One is allowed in five
/// characters, but at least one and at most three. Upper and lower case are equal.
pub fn did_you_mean<T: AsRef<str> + Ord>(word: &str, candidates: impl IntoIterator<Item = T>) -> Vec<T> {
    let allowed = (word.len() / 5).clamp(1, 3);
    let word = word.to_ascii_lowercase();
    let distance = |candidate: &str| {
        let near = candidate.len().abs_diff(word.len()) <= allowed;
        near.then(|| osa_distance(&word, &candidate.to_ascii_lowercase())).filter(|distance| *distance <= allowed)
    };
    let mut near: Vec<(usize, T)> =
        candidates.into_iter().filter_map(|candidate| Some((distance(candidate.as_ref())?, candidate))).collect();
    near.sort();
    near.dedup();
    let best = near.first().map_or(0, |(distance, _)| *distance);
    near.into_iter().take_while(|(distance, _)| *distance <= best + 1).take(3).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_first() {
        let names = ["cuMemAlloc", "cuMemAllocHost", "cuMemAllow", "cuInit"];
        assert_eq!(did_you_mean("cuMemAloc", names), ["cuMemAlloc"]);
        assert_eq!(did_you_mean("nothing", names), [""; 0]);
        assert_eq!(did_you_mean("CUINTI", names), ["cuInit"]);
    }

    #[test]
    fn swap_is_one_mistake() {
        assert_eq!(did_you_mean("pyhton3", ["python3", "python3.12"]), ["python3"]);
    }
}
