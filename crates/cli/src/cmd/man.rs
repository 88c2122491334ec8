//! `cutap man`: writes a man page of each command.

use crate::command_line;
use crate::topics::topics;
use cutap_collect::{Result, cannot, say};
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub struct Man {
    /// The directory, such as ~/.local/share/man/man1; it is made if it is missing
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Man {
    pub fn run(self) -> Result<()> {
        let fail = |e| cannot("write man pages into", &self.folder, &e, "give a directory that you may write");
        std::fs::create_dir_all(&self.folder).map_err(fail)?;
        let mut command = command_line::command();
        command.build();
        let mut pages = page(&self.folder, &command, "cutap").map_err(fail)?;
        for of in command.get_subcommands().filter(|c| !c.is_hide_set()) {
            pages += page(&self.folder, of, &format!("cutap-{}", of.get_name())).map_err(fail)?;
        }
        say(&format!("{pages} man pages are in {}", self.folder.display()));
        Ok(())
    }
}

/// Writes one page; the topics are at the end of the main one.
fn page(folder: &Path, of: &clap::Command, name: &str) -> std::io::Result<usize> {
    let mut bytes = Vec::new();
    clap_mangen::Man::new(of.clone()).title(name).render(&mut bytes)?;
    if name == "cutap" {
        bytes.extend(topics().flat_map(|(_, text)| topic(&text).into_bytes()));
    }
    std::fs::write(folder.join(format!("{name}.1")), bytes)?;
    Ok(1)
}

/// A topic as a section of roff, in its own lines.
fn topic(text: &str) -> String {
    let (title, body) = text.split_once('\n').unwrap_or((text, ""));
    let escaped = |line: &str| line.replace('\\', "\\e").replace('-', "\\-");
    let lines = body.lines().map(|line| match line.starts_with(['.', '\'']) {
        true => format!("\\&{}\n", escaped(line)),
        false => format!("{}\n", escaped(line)),
    });
    format!(".SH \"{}\"\n.nf\n{}.fi\n", title.replace('"', "\\(dq"), lines.collect::<String>())
}
