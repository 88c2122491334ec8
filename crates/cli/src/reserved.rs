//! Words that are no commands, and that no program is started for: those of coming commands, and those that users try
//! first. Each answers with what does the job today. `cutap -- leaks` runs a program of that name.

/// A word, and what to type.
const RESERVED: [(&str, &str); 7] = [
    (
        "attach",
        "cutap cannot attach to a running program; start it under cutap record, and switch it with cutap ctl PID",
    ),
    ("replay", "cutap show prints the calls of a recording again; nothing makes them again"),
    ("leaks", "cutap report --leaks lists what was never freed"),
    ("merge", "cutap show, report, explain and export read several recordings together"),
    ("stats", "cutap report has the table of functions"),
    ("summary", "cutap report has the table of functions, and cutap trace -c prints it at the end of a run"),
    ("errors", "cutap report --errors lists the calls that failed"),
];

/// What to type in place of this word.
pub fn advice(word: &str) -> Option<String> {
    let (word, advice) = RESERVED.iter().find(|(reserved, _)| *reserved == word)?;
    Some(format!("{word} is no command of cutap; {advice}. cutap -- {word} runs a program of that name"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_command_is_reserved() {
        let command = crate::command_line::command();
        for (word, _) in RESERVED {
            assert!(command.find_subcommand(word).is_none(), "{word}");
        }
    }
}
