//! Which words somebody may have meant: those a few typing mistakes away.

/// The nearest of `words`, three at most, the nearest first.
pub(super) fn nearest<'a>(word: &str, words: &[&'a str]) -> Vec<&'a str> {
    let allowed = (word.len() / 5).clamp(1, 3);
    let word = word.to_ascii_lowercase();
    let mut near: Vec<(usize, &str)> = Vec::new();
    for candidate in words {
        if candidate.len().abs_diff(word.len()) <= allowed {
            let distance = distance(word.as_bytes(), candidate.to_ascii_lowercase().as_bytes());
            if distance <= allowed {
                near.push((distance, candidate));
            }
        }
    }
    near.sort();
    near.dedup();
    let best = near.first().map_or(0, |n| n.0);
    near.into_iter().take_while(|n| n.0 <= best + 1).take(3).map(|n| n.1).collect()
}

/// What may have been meant, for the end of a sentence.
pub(super) fn meant(word: &str, names: &[&str]) -> String {
    let near = nearest(word, names);
    if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(", ")) }
}

/// The nearest field, or what fields there are.
pub(super) fn there(word: &str, fields: &[&'static str]) -> String {
    /// More than these nobody reads.
    const FEW: usize = 12;
    let mut all: Vec<&str> = Vec::new();
    fields.iter().filter(|f| !f.starts_with("reserved")).for_each(|f| {
        if !all.contains(f) {
            all.push(f)
        }
    });
    match (meant(word, fields), all.len()) {
        (meant, 0) => meant,
        (meant, _) if !meant.is_empty() => meant,
        (_, n) => format!(" (it has {}{})", all[..n.min(FEW)].join(", "), if n > FEW { ", ..." } else { "" }),
    }
}

/// Insertions, deletions, changes and swaps of neighbours that lead from one to the other.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let mut best = (last[j] + usize::from(x != y)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (a, b, d) in
            [("", "abc", 3), ("abc", "abc", 0), ("abc", "acb", 1), ("cudaMaloc", "cudaMalloc", 1), ("ab", "xy", 2)]
        {
            assert_eq!(distance(a.as_bytes(), b.as_bytes()), d, "{a} {b}");
        }
    }

    #[test]
    fn the_nearest_come_first() {
        let words = ["cuMemAlloc", "cuMemAllocHost", "cuMemAllow", "cuInit"];
        assert_eq!(nearest("cuMemAloc", &words), ["cuMemAlloc"]);
        assert_eq!(nearest("nothing", &words), [""; 0]);
    }
}
