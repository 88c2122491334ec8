//! Notes on several runs: one that all of them have is one note, with the runs that it is about in front.

use crate::format::runs::RunCounts;
use cutap_trace::End;

/// The notes that `of` gives of each run. Of a single run no name is in front.
pub fn notes_of_runs(ends: &[&End], of: &dyn Fn(&End) -> Vec<String>) -> Vec<String> {
    if let [one] = ends {
        return of(one);
    }
    let mut notes: Vec<(String, RunCounts)> = Vec::new();
    for end in ends {
        let mut of_run: Vec<String> = Vec::new();
        for line in of(end) {
            // Lines below a note belong to it.
            match of_run.last_mut().filter(|_| line.starts_with("  ")) {
                Some(note) => *note = format!("{note}\n{line}"),
                None => of_run.push(line),
            }
        }
        for note in of_run {
            let place = notes.iter().position(|(listed, _)| *listed == note).unwrap_or(notes.len());
            if place == notes.len() {
                notes.push((note, RunCounts::default()));
            }
            end.run.iter().for_each(|run| notes[place].1.add_run(run, 1));
        }
    }
    let lines = notes.into_iter().map(|(note, runs)| match runs.text() {
        Some(runs) => format!("{runs}: {note}"),
        None => note,
    });
    lines.flat_map(|note| note.lines().map(str::to_owned).collect::<Vec<_>>()).collect()
}
