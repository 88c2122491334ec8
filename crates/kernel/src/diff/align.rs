//! The longest common subsequence of two lists, by Myers' algorithm with a limit of differences.

/// The most differences that are searched for.
const MOST: usize = 2000;

/// Pairs of places that belong together, ascending. None: there are more differences than the limit.
pub(super) fn pairs<T: PartialEq>(a: &[T], b: &[T]) -> Option<Vec<(usize, usize)>> {
    let prefix = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (a, b) = (a.get(prefix..)?, b.get(prefix..)?);
    let most = MOST.min(a.len() + b.len());
    let offset = most + 1;
    // For each diagonal the furthest place in `a`; a copy for each number of differences leads back.
    let mut furthest = vec![0_usize; 2 * offset + 1];
    let mut history = Vec::new();
    let at = |diagonal: isize| usize::try_from(diagonal + offset.cast_signed()).unwrap_or(0);
    for differences in 0..=most {
        history.push(furthest.clone());
        let limit = differences.cast_signed();
        for diagonal in (-limit..=limit).step_by(2) {
            let get = |d: isize| furthest.get(at(d)).copied().unwrap_or(0);
            let down = diagonal == -limit || (diagonal != limit && get(diagonal - 1) < get(diagonal + 1));
            let mut x = if down { get(diagonal + 1) } else { get(diagonal - 1) + 1 };
            let mut y = usize::try_from(x.cast_signed() - diagonal).unwrap_or(0);
            while x < a.len() && y < b.len() && a.get(x) == b.get(y) {
                x += 1;
                y += 1;
            }
            if let Some(place) = furthest.get_mut(at(diagonal)) {
                *place = x;
            }
            if x >= a.len() && y >= b.len() {
                let mut pairs = back(&history, a.len(), b.len(), offset);
                pairs.reverse();
                let moved = pairs.into_iter().map(|(x, y)| (x + prefix, y + prefix));
                return Some((0..prefix).map(|n| (n, n)).chain(moved).collect());
            }
        }
    }
    None
}

/// From the end to the begin.
fn back(history: &[Vec<usize>], mut x: usize, mut y: usize, offset: usize) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    for (differences, furthest) in history.iter().enumerate().rev() {
        let limit = differences.cast_signed();
        let diagonal = x.cast_signed() - y.cast_signed();
        let get = |d: isize| {
            usize::try_from(d + offset.cast_signed()).ok().and_then(|at| furthest.get(at)).copied().unwrap_or(0)
        };
        let down = diagonal == -limit || (diagonal != limit && get(diagonal - 1) < get(diagonal + 1));
        let before = if down { diagonal + 1 } else { diagonal - 1 };
        let start = get(before);
        let start_y = usize::try_from(start.cast_signed() - before).unwrap_or(0);
        while x > start && y > start_y && differences > 0 || differences == 0 && x > 0 && y > 0 {
            x -= 1;
            y -= 1;
            pairs.push((x, y));
        }
        (x, y) = (start, start_y);
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::pairs;

    fn common(a: &str, b: &str) -> String {
        let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
        let found = pairs(&a, &b).unwrap();
        assert!(found.is_sorted_by(|p, q| p.0 < q.0 && p.1 < q.1) && found.iter().all(|(x, y)| a[*x] == b[*y]));
        found.iter().map(|(x, _)| a[*x]).collect()
    }

    #[test]
    fn longest() {
        assert_eq!(common("", ""), "");
        assert_eq!(common("abc", "abc"), "abc");
        assert_eq!(common("abc", ""), "");
        assert_eq!(common("abcabba", "cbabac").len(), 4);
        assert_eq!(common("xaxbxc", "abc"), "abc");
        assert_eq!(common("abc", "xyabzc"), "abc");
        assert_eq!(common("12345", "54321").len(), 1);
    }
}
