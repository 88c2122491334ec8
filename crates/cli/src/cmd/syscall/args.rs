//! Flags that several subcommands of `cutap syscall` share.

use cutap_collect::{Error, Result};
use cutap_kernel::select::{Select, unknown};
use cutap_kernel::show::text::Style;

/// How calls are printed.
#[derive(Debug, clap::Args)]
pub struct StyleArgs {
    /// All fields, also those that are 0
    #[arg(short = 'v', long)]
    verbose: bool,
    /// Also the bytes of the argument and of embedded pointers, before and after
    #[arg(short = 'x', long)]
    hex: bool,
}

impl StyleArgs {
    pub fn style(&self) -> Style {
        Style { verbose: self.verbose, hex: self.hex, ..Style::default() }
    }
}

/// The driver whose tables are used.
#[derive(Debug, clap::Args)]
pub struct DriverArgs {
    /// Decode by the tables of this driver version, such as 580.159.04
    #[arg(long, value_name = "VERSION")]
    pub driver: Option<String>,
}

/// Which ioctls are printed.
#[derive(Debug, clap::Args)]
pub struct SelectArgs {
    /// Only this escape, RM control or UVM command: name with *, end of a name, or number
    #[arg(long, value_name = "COMMAND")]
    command: Vec<String>,
    /// Only allocations of this class: name with *, end of a name, or number
    #[arg(long, value_name = "CLASS")]
    class: Vec<String>,
    /// Only requests that name this handle
    #[arg(long, value_name = "HANDLE", value_parser = handle)]
    object: Vec<u32>,
    /// Only requests that end with this status (name or number), or that failed
    #[arg(long, value_name = "STATUS|failed")]
    status: Vec<String>,
}

fn handle(text: &str) -> std::result::Result<u32, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    u32::from_str_radix(digits, 16).map_err(|_| format!("{text} is no handle; give one such as 0x5c000003"))
}

impl SelectArgs {
    /// A name that no release of the driver has is an error: nothing would ever match.
    pub fn select(self) -> Result<Select> {
        let select =
            Select { commands: self.command, classes: self.class, objects: self.object, statuses: self.status };
        match unknown(&select) {
            None => Ok(select),
            Some((flag, word, what)) => Err(Error::own(format!(
                "{flag} {word}: the driver has no such {what}; give a name with *, the end of a name, or a number"
            ))),
        }
    }
}
