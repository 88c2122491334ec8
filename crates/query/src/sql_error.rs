//! The sentence of an error of SQL, and the place that it means.

use datafusion::error::DataFusionError;

/// The sentence; below it the line of the query, with a mark under the place, if the error has one.
pub fn message(sql: &str, error: &DataFusionError) -> String {
    let diagnostic = error.diagnostic();
    let text = error.strip_backtrace();
    let sentence = match (error.find_root(), diagnostic) {
        (DataFusionError::SQL(parser, _), _) => parser.to_string(),
        (_, Some(diagnostic)) => {
            let notes = diagnostic.notes.iter().map(|note| &note.message);
            let helps = diagnostic.helps.iter().map(|help| &help.message);
            std::iter::once(&diagnostic.message).chain(notes.chain(helps)).cloned().collect::<Vec<_>>().join("; ")
        }
        (root, None) => root.message().into_owned(),
    };
    let sentence = sentence.lines().next().unwrap_or_default().trim_start_matches("sql parser error: ").to_owned();
    let (sentence, in_text) = match sentence.split_once(" at Line: ") {
        Some((before, place)) => (before.to_owned(), line_and_column(place)),
        None => (sentence, line_and_column(text.split_once(" at Line: ").map_or("", |(_, place)| place))),
    };
    let span = diagnostic.and_then(|diagnostic| diagnostic.span);
    let place = span.map(|span| (span.start.line as usize, span.start.column as usize)).or(in_text);
    match place.and_then(|(line, column)| Some((line, column, sql.lines().nth(line.checked_sub(1)?)?))) {
        Some((line, column, of_query)) => {
            let mark = " ".repeat(column.saturating_sub(1));
            format!("line {line} of the query, column {column}: {sentence}\n  {of_query}\n  {mark}^")
        }
        None => format!("the query fails: {sentence}"),
    }
}

/// Of `1, Column: 8`.
fn line_and_column(text: &str) -> Option<(usize, usize)> {
    let (line, rest) = text.split_once(", Column: ")?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    Some((line.trim().parse().ok()?, digits.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_from_the_words_of_the_parser() {
        assert_eq!(line_and_column("2, Column: 17)"), Some((2, 17)));
        assert_eq!(line_and_column("no place"), None);
    }
}
