//! Sentences and wide lines of a source or document, for the checks of prose. Code, links and tables do not count as
//! sentences. The rules are those of a reader, so a small error in the splitting does no harm.

/// Columns of a line in Rust and in Markdown.
const RUST_COLUMNS: usize = 120;
const MARKDOWN_COLUMNS: usize = 100;

/// What a file says: its sentences, and its lines that are too wide, each with a line number.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Text {
    pub(super) sentences: Vec<(usize, String)>,
    pub(super) wide: Vec<(usize, String)>,
    /// The paragraph that is being read, and the number of its first line.
    paragraph: String,
    start: usize,
}

impl Text {
    /// The comments of a Rust file, and all its lines.
    pub(super) fn of_rust(source: &str) -> Text {
        let mut text = Text::default();
        let mut is_code = false;
        for (number, line) in (1..).zip(source.lines()) {
            if line.chars().count() > RUST_COLUMNS {
                text.wide.push((number, line.trim().to_owned()));
            }
            let comment = line.trim_start().strip_prefix("//").map(|rest| rest.trim_start_matches(['/', '!']));
            match comment {
                Some(body) if body.trim_start().starts_with("```") => {
                    is_code = !is_code;
                    text.end_paragraph();
                }
                Some(body) if is_code || body.trim_start().starts_with('|') => text.end_paragraph(),
                Some(body) if body.trim().is_empty() || body.starts_with("     ") => text.end_paragraph(),
                Some(body) => text.add_line(number, body.trim_start()),
                None => {
                    is_code = false;
                    text.end_paragraph();
                }
            }
        }
        text.end_paragraph();
        text
    }

    pub(super) fn of_markdown(source: &str) -> Text {
        let mut text = Text::default();
        let mut is_code = false;
        for (number, line) in (1..).zip(source.lines()) {
            let start = line.trim_start();
            if start.starts_with("```") || start.starts_with("~~~") {
                is_code = !is_code;
                text.end_paragraph();
                continue;
            }
            let indented = line.starts_with("    ") && text.paragraph.is_empty();
            if is_code || indented || start.is_empty() || start.starts_with(['#', '|']) {
                text.end_paragraph();
                continue;
            }
            if line.chars().count() > MARKDOWN_COLUMNS && !line.contains("](") && !line.contains("://") {
                text.wide.push((number, line.trim().to_owned()));
            }
            text.add_line(number, start);
        }
        text.end_paragraph();
        text
    }

    /// An item of a list is a paragraph.
    fn add_line(&mut self, number: usize, line: &str) {
        match item(line) {
            Some(body) => {
                self.end_paragraph();
                self.add(number, body);
            }
            None => self.add(number, line),
        }
    }

    fn add(&mut self, number: usize, line: &str) {
        if self.paragraph.is_empty() {
            self.start = number;
        } else {
            self.paragraph.push(' ');
        }
        self.paragraph.push_str(line.trim());
    }

    fn end_paragraph(&mut self) {
        let paragraph = std::mem::take(&mut self.paragraph);
        self.sentences.extend(sentences(&paragraph).into_iter().map(|sentence| (self.start, sentence)));
    }
}

/// The lines of a document that are in no fenced block.
pub(super) fn markdown_lines(source: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    source.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// The text of an item of a list.
fn item(line: &str) -> Option<&str> {
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = (number.len() < line.len()).then(|| number.strip_prefix(". ")).flatten();
    line.strip_prefix("- ").or(line.strip_prefix("* ")).or(numbered)
}

/// A sentence ends with `.`, `!`, `?` or `:` before a word that starts like a sentence.
fn sentences(paragraph: &str) -> Vec<String> {
    let plain = without_code(paragraph);
    let mut all = vec![String::new()];
    let mut words = plain.split_whitespace().peekable();
    while let Some(word) = words.next() {
        if let Some(last) = all.last_mut() {
            last.push_str(if last.is_empty() { "" } else { " " });
            last.push_str(word);
        }
        let ends = word.trim_end_matches([')', '"', '*']).ends_with(['.', '!', '?', ':']);
        let starts =
            words.peek().is_some_and(|next| next.starts_with(|c: char| c.is_uppercase() || "\"'(".contains(c)));
        if ends && starts {
            all.push(String::new());
        }
    }
    all.retain(|sentence| !sentence.is_empty());
    all
}

/// Replaces each piece of code by one word, and each link by its text.
fn without_code(paragraph: &str) -> String {
    let parts = paragraph.split('`').enumerate();
    let plain: String = parts.map(|(n, part)| if n % 2 == 0 { part } else { "CODE" }).collect();
    let mut out = String::new();
    let mut rest = plain.as_str();
    while let Some((before, after)) = rest.split_once("](") {
        let (before, link) = before.rsplit_once('[').unwrap_or((before, ""));
        out.extend([before, link]);
        rest = after.split_once(')').map_or("", |(_, rest)| rest);
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentences(text: Text) -> Vec<(usize, String)> {
        text.sentences
    }

    fn expected(all: &[(usize, &str)]) -> Vec<(usize, String)> {
        all.iter().map(|(n, s)| (*n, (*s).to_owned())).collect()
    }

    #[test]
    fn comments_of_rust() {
        let source = "//! One `a. B` two. Three\n//! four.\n\nlet x = 1; // not read\n    /// Five.\n\
                      /// ```\n/// Code.\n/// ```\n/// | A cell. | B. |\n";
        let found = sentences(Text::of_rust(source));
        assert_eq!(found, expected(&[(1, "One CODE two."), (1, "Three four."), (5, "Five.")]));
    }

    #[test]
    fn paragraphs_of_markdown() {
        let source = "# Title here\n\nOne [two](x/y. Z) three.\n- Four\n  five.\n1. Six.\n\n    code\n\n\
                      | cell |\n```\ncode\n```\n";
        let found = sentences(Text::of_markdown(source));
        assert_eq!(found, expected(&[(3, "One two three."), (4, "Four five."), (6, "Six.")]));
    }

    #[test]
    fn wide_lines() {
        let line = "x".repeat(101);
        assert_eq!(Text::of_markdown(&format!("{line}\n\n| {line} |\n")).wide.len(), 1);
        assert_eq!(Text::of_rust(&format!("{line}\n")).wide.len(), 0);
        assert_eq!(Text::of_rust(&format!("{line}{}\n", "y".repeat(20))).wide.len(), 1);
    }
}
