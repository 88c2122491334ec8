//! Words and phrases that a comment or document avoids, each with plain words for it. They are the habits of the first
//! year of this project: everyday verbs for technical terms, and subjects without a noun.

/// The phrase in lower case, and the plain words.
const AVOIDED: &[(&str, &str)] = &[
    ("anew", "'again'"),
    ("are over", "'have finished'"),
    ("are told", "'receive', 'report'"),
    ("as it is", "'unchanged'"),
    ("as they are", "'unchanged'"),
    ("at once", "'immediately'"),
    ("be told", "'receive', 'report'"),
    ("by then", "name the time"),
    ("for ever", "'permanently', 'until exit'"),
    ("go on", "'continue'"),
    ("goes on", "'continues'"),
    ("in its turn", "'in order'"),
    ("is over", "'has finished'"),
    ("is told", "'receives', 'reports'"),
    ("linked in", "'statically linked'"),
    ("nobody", "name the caller or reader"),
    ("noted", "'recorded'"),
    ("of its own", "'separate', or leave it out"),
    ("of our own", "'separate', or leave it out"),
    ("of ours", "'of cutap', 'of the driver'"),
    ("of their own", "'separate', or leave it out"),
    ("say so", "'print a message'"),
    ("says so", "'prints a message'"),
    ("somebody", "name the caller or reader"),
    ("stands in", "'is in'"),
    ("tell apart", "'distinguish'"),
    ("tells apart", "'distinguishes'"),
    ("tells of", "'reports'"),
    ("the same of", "name the subject"),
    ("told apart", "'distinguished'"),
    ("was told", "'received', 'reported'"),
    ("were told", "'received', 'reported'"),
    ("whoever", "name the caller or reader"),
];

/// The avoided phrases of a sentence, with the plain words.
pub(super) fn avoided(sentence: &str) -> Vec<(&'static str, &'static str)> {
    let words: Vec<String> =
        sentence.split(|c: char| !c.is_alphanumeric() && c != '\'').map(str::to_lowercase).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).filter(|word| !word.is_empty()).collect();
    let has = |phrase: &str| {
        let phrase: Vec<&str> = phrase.split(' ').collect();
        words.windows(phrase.len()).any(|window| window == phrase)
    };
    AVOIDED.iter().copied().filter(|(phrase, _)| has(phrase)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_words_only() {
        let found = |sentence| avoided(sentence).into_iter().map(|(phrase, _)| phrase).collect::<Vec<_>>();
        assert_eq!(found("Nobody is\ttold, at once."), ["at once", "is told", "nobody"]);
        assert_eq!(found("It goes, and on at onces; noteda."), Vec::<&str>::new());
    }
}
