//! The first screen, which `cutap`, `cutap --help` and `cutap help` print: commands in groups, the usual ones first,
//! and examples.

use crate::examples;
use clap::Command;
use std::fmt::Write;

/// The visible commands, in groups.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Usual commands", &["trace", "record", "show", "report", "explain", "view", "where", "top", "diff", "check"]),
    ("Runs and recordings", &["run", "chaos", "env", "ctl", "export", "query", "recover", "pack"]),
    ("Programs, the machine and the kernel driver", &["inspect", "api", "devices", "syscall", "doctor"]),
    ("Help", &["help", "demo", "hook-header", "man", "completions"]),
];

const END: &str = "\
cutap PROG means cutap trace PROG; cutap -- PROG runs a program that is named like a command.
cutap help COMMAND explains a command; cutap help TOPIC one of filters, output, files, inject, limit, hooks, \
environment, strace.

Exit code of trace, record and run: the program's own, or death by the same signal. 125: cutap itself failed or could \
not write the trace. 126: the program cannot be run. 127: there is no such program.";

/// The command with this screen as its help.
pub fn with_first_screen(command: Command) -> Command {
    let heading = *command.get_styles().get_header();
    let heading = |title: &str| format!("{}{title}:{}\n", heading.render(), heading.render_reset());
    let mut screen = String::from("{about}\n\n{usage-heading} {usage}\n\n");
    for (title, names) in GROUPS {
        screen += &heading(title);
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about).map(ToString::to_string);
            let _ = writeln!(screen, "  {name:<11}  {}", about.unwrap_or_default());
        }
        screen.push('\n');
    }
    let _ = write!(
        screen,
        "{}{}\n\n{}{{options}}{{after-help}}",
        heading("Examples"),
        examples::text(""),
        heading("Options")
    );
    command.help_template(screen).after_help(END)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_is_in_one_group() {
        let command = crate::command_line::command();
        let mut shown: Vec<&str> =
            command.get_subcommands().filter(|c| !c.is_hide_set()).map(Command::get_name).collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        shown.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(shown, grouped);
    }

    /// On a terminal of 80 columns no line of the lists is wrapped.
    #[test]
    fn lines_fit_eighty_columns() {
        for command in crate::command_line::command().get_subcommands().filter(|c| !c.is_hide_set()) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            assert!(about.len() <= 65, "{about}");
        }
        assert!(examples::text("").lines().all(|line| line.len() <= 80));
    }
}
