//! Which of the last words of a trace a terminal shows: the most important notes, and how many more there are. A note
//! is a line of `footer`, with the indented lines below it.

use crate::notes::footer::{concerning_lines, ranked_lines};
use cutap_trace::End;

/// Indented lines of a note that are shown when not all notes are.
const DETAILS: usize = 3;

/// The notes, without `cutap: ` in front: `most` of them, the most important first; with none, all in their usual
/// order. Notes that no reader can act on are left out: `cutap report --notes` has
/// them.
pub fn notes(end: &End, most: Option<usize>) -> Vec<String> {
    let Some(most) = most else { return concerning_lines(end) };
    let mut notes = grouped(ranked_lines(end));
    // A stable sort: of equal notes the first stays first.
    notes.sort_by_key(|(rank, _)| *rank);
    limited(notes.into_iter().map(|(_, lines)| lines).collect(), most)
}

/// Lines, a note each, cut to the most important ones.
pub fn limit_lines(lines: Vec<String>, most: Option<usize>) -> Vec<String> {
    match most {
        None => lines,
        Some(most) => {
            limited(grouped(lines.into_iter().map(|l| (0, l)).collect()).into_iter().map(|n| n.1).collect(), most)
        }
    }
}

/// Notes with the lines below them.
fn grouped(lines: Vec<(u8, String)>) -> Vec<(u8, Vec<String>)> {
    let mut notes: Vec<(u8, Vec<String>)> = Vec::new();
    for (rank, line) in lines {
        match notes.last_mut().filter(|_| line.starts_with("  ")) {
            Some((_, note)) => note.push(line),
            None => notes.push((rank, vec![line])),
        }
    }
    notes
}

fn limited(notes: Vec<Vec<String>>, most: usize) -> Vec<String> {
    if most == 0 {
        return Vec::new();
    }
    let omitted = notes.len().saturating_sub(most);
    let mut lines: Vec<String> = Vec::new();
    for note in notes.into_iter().take(most) {
        let more = note.len().saturating_sub(DETAILS + 1);
        lines.extend(note.into_iter().take(DETAILS + 1));
        if more > 0 {
            lines.push(format!("  and {more} more"));
        }
    }
    match omitted {
        0 => {}
        1 => lines.push("1 more note: -v shows all, and so does cutap report --notes".to_owned()),
        _ => lines.push(format!("{omitted} more notes: -v shows all, and so does cutap report --notes")),
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutap_trace::MissingRecords;

    fn lines(of: &[&str], most: usize) -> Vec<String> {
        limit_lines(of.iter().map(|l| (*l).to_owned()).collect(), Some(most))
    }

    #[test]
    fn notes_with_their_details() {
        let all = ["one", "two", "  a", "  b", "  c", "  d", "  e", "three", "four"];
        assert_eq!(
            lines(&all, 2),
            ["one", "two", "  a", "  b", "  c", "  and 2 more", {
                "2 more notes: -v shows all, and so does cutap report --notes"
            }]
        );
        assert_eq!(lines(&["one"], 5), ["one"]);
        assert_eq!(lines(&all, 0), [""; 0]);
    }

    #[test]
    fn the_most_important_come_first() {
        let mut end = End { missing: MissingRecords { overwritten: 7, ..MissingRecords::default() }, ..End::default() };
        end.processes.instances = Vec::new();
        assert_eq!(notes(&end, Some(5)), ["7 calls older than what the flight recorder kept"]);
        assert_eq!(notes(&end, None), ["7 calls older than what the flight recorder kept"]);
    }
}
