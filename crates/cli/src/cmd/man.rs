//! `cutap man`: writes a man page of each command.

use crate::command_line;
use crate::examples::{self, exit_status};
use crate::topics::topics;
use cutap_collect::{Result, cannot, print_notice};
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub struct Man {
    /// The directory, such as ~/.local/share/man/man1; it is made if it is missing
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Man {
    pub fn run(self) -> Result<()> {
        let cannot_write = |e| cannot("write man pages into", &self.folder, &e, "give a directory that you may write");
        std::fs::create_dir_all(&self.folder).map_err(cannot_write)?;
        let mut command = command_line::command();
        command.build();
        let pages = page_and_below(&self.folder, &command, "cutap").map_err(cannot_write)?;
        print_notice(&format!("{pages} man pages are in {}", self.folder.display()));
        Ok(())
    }
}

/// Writes the page of a command and those of its subcommands, which it refers to. Returns their number.
fn page_and_below(folder: &Path, of: &clap::Command, name: &str) -> io::Result<usize> {
    page(folder, of, name)?;
    let visible_commands =
        of.get_subcommands().filter(|c| !c.is_hide_set() && (c.get_name() != "help" || name == "cutap"));
    visible_commands
        .map(|below| page_and_below(folder, below, &format!("{name}-{}", below.get_name())))
        .try_fold(1, |n, more| Ok(n + more?))
}

/// Writes one page; the topics are at the end of the main one.
fn page(folder: &Path, of: &clap::Command, name: &str) -> io::Result<()> {
    let mut out = Vec::new();
    // Examples have a separate section.
    let man = clap_mangen::Man::new(of.clone().after_help(None::<&str>).display_name(name)).title(name);
    man.render_title(&mut out)?;
    man.render_name_section(&mut out)?;
    man.render_synopsis_section(&mut out)?;
    man.render_description_section(&mut out)?;
    man.render_options_section(&mut out)?;
    if of.get_subcommands().any(|c| !c.is_hide_set()) {
        man.render_subcommands_section(&mut out)?;
    }
    let command = name.strip_prefix("cutap-").unwrap_or_default();
    out.extend(section("EXIT STATUS", exit_status(command)).bytes());
    if !examples::examples(command).is_empty() {
        out.extend(section("EXAMPLES", &examples::text(command)).bytes());
    }
    if name == "cutap" {
        for (_, text) in topics() {
            let (title, body) = text.split_once('\n').unwrap_or((&text, ""));
            out.extend(section(title, body).bytes());
        }
        man.render_version_section(&mut out)?;
    } else {
        out.extend(section("SEE ALSO", "cutap(1)").bytes());
    }
    std::fs::write(folder.join(format!("{name}.1")), out)
}

/// A section of roff, in the lines of the text.
fn section(title: &str, body: &str) -> String {
    let escaped = |line: &str| line.replace('\\', "\\e").replace('-', "\\-");
    let lines = body.lines().map(|line| match line.starts_with(['.', '\'']) {
        true => format!("\\&{}\n", escaped(line)),
        false => format!("{}\n", escaped(line)),
    });
    format!(".SH \"{}\"\n.nf\n{}.fi\n", title.replace('"', "\\(dq"), lines.collect::<String>())
}
