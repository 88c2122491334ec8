//! A rank of a communicator that is joined over runs.

/// A rank, as one run has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The run, and the communicator in it, by their places.
    pub run: usize,
    pub communicator: usize,
    /// `rank 3`, or the run's file.
    pub label: String,
    /// Its rank in this communicator.
    pub rank: Option<u32>,
    /// What is added to the numbers of its calls.
    pub shift: i64,
    /// Its first number that is compared.
    pub first: u64,
    /// Why its numbers are not counted but matched with those of other ranks; none if they are counted.
    pub aligned: Option<&'static str>,
    /// Its calls fit those of no other rank.
    pub is_unaligned: bool,
}

/// `rank 0`, `ranks 0, 2, 3`, `ranks 0 to 7`; other labels with commas.
pub fn labels<'a>(members: impl Iterator<Item = &'a Member>) -> String {
    let all: Vec<&str> = members.map(|member| member.label.as_str()).collect();
    let ranks: Option<Vec<u32>> = all.iter().map(|label| label.strip_prefix("rank ")?.parse().ok()).collect();
    match ranks {
        Some(ranks) if ranks.len() > 1 => ranks_text(ranks),
        _ => all.join(", "),
    }
}

/// `rank 0`, `ranks 0 to 3`, from numbers.
pub fn ranks_text(mut ranks: Vec<u32>) -> String {
    ranks.sort_unstable();
    ranks.dedup();
    if let [one] = ranks[..] {
        return format!("rank {one}");
    }
    let mut parts: Vec<String> = Vec::new();
    let mut rest = &ranks[..];
    while let Some(first) = rest.first() {
        let run = rest.iter().zip(*first..).take_while(|(rank, expected)| **rank == *expected).count();
        let (together, after) = rest.split_at(if run > 2 { run } else { 1 });
        parts.push(match together {
            [first, .., last] => format!("{first} to {last}"),
            _ => first.to_string(),
        });
        rest = after;
    }
    format!("ranks {}", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_in_words() {
        assert_eq!(ranks_text(vec![3]), "rank 3");
        assert_eq!(ranks_text(vec![3, 0, 2]), "ranks 0, 2, 3");
        assert_eq!(ranks_text(vec![0, 1, 2, 3, 5, 6, 8]), "ranks 0 to 3, 5, 6, 8");
    }
}
