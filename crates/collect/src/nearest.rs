//! Names that a person may have meant. Only for error messages: it looks at every name.

use std::ffi::OsStr;

/// The name on the search path that differs least from `wanted`, if it differs little.
pub fn program(wanted: &OsStr, search: &OsStr) -> Option<String> {
    let wanted = wanted.to_str()?;
    let most = (wanted.len() / 4).clamp(1, 3);
    let mut best: Option<(usize, String)> = None;
    for folder in std::env::split_paths(search) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            if name.len().abs_diff(wanted.len()) > most {
                continue;
            }
            let distance = distance(wanted, &name);
            if distance <= most && best.as_ref().is_none_or(|b| (distance, &name) < (b.0, &b.1)) {
                best = Some((distance, name));
            }
        }
    }
    best.map(|b| b.1)
}

/// Letters to add, drop, change, or swap with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0usize; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let change = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let mut least = change.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    least = least.min(rows[i - 2][j - 2] + 1);
                }
                least
            };
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_swap_is_one_step() {
        assert_eq!(distance("pyhton3", "python3"), 1);
        assert_eq!(distance("abc", "abc"), 0);
        assert_eq!(distance("", "ab"), 2);
    }
}
