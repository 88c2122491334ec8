//! Why a filter is refused, and the names that a misspelt word in it may mean: those a few typing mistakes away.

use super::did_you_mean::did_you_mean;

/// Why a filter was refused: one sentence for the person who wrote it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FilterError(pub(super) String);

/// The words of `words` that are similar.
pub(super) fn nearest<'a>(word: &str, words: &[&'a str]) -> Vec<&'a str> {
    did_you_mean(word, words.iter().copied())
}

/// A question with similar words; empty without any.
pub(super) fn did_you_mean_text(word: &str, names: &[&str]) -> String {
    let near = nearest(word, names);
    if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(", ")) }
}

/// A question with similar fields; without any, the fields that exist.
pub(super) fn suggestion_or_fields(word: &str, fields: &[&'static str]) -> String {
    /// More names than these do not help.
    const FEW: usize = 12;
    let mut all: Vec<&str> = Vec::new();
    fields.iter().filter(|f| !f.starts_with("reserved")).for_each(|f| {
        if !all.contains(f) {
            all.push(f)
        }
    });
    match (did_you_mean_text(word, fields), all.len()) {
        (meant, 0) => meant,
        (meant, _) if !meant.is_empty() => meant,
        (_, n) => format!(" (it has {}{})", all[..n.min(FEW)].join(", "), if n > FEW { ", ..." } else { "" }),
    }
}
