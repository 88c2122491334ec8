//! `cutap api`: what is known of a function, from the tables of `cutap_report::api`, or of a command of the kernel
//! driver.

use crate::args::JsonArgs;
use crate::stdout::print;
use cutap_collect::{Error, Result};
use cutap_kernel::command;
use cutap_report::api::{Unknown, describe, list, matching};
use cutap_trace::Layer;

#[derive(Debug, clap::Args)]
pub struct Api {
    /// The names of all functions of driver, runtime, cublas, ..., one a line; hidden: the tables of cuGetExportTable
    #[arg(long, value_name = "LIBRARY")]
    list: Option<String>,
    #[command(flatten)]
    json: JsonArgs,
    // A doc comment would make a link of [51].
    #[arg(
        required_unless_present = "list",
        conflicts_with = "list",
        value_name = "NAME",
        help = "Exported names (cuMemAlloc_v2), slots ('21318c60[51]'), commands of the kernel driver \
                (NV_ESC_RM_ALLOC, 0x2080014a), or patterns ('cuMem*'): those one a line"
    )]
    names: Vec<String>,
}

impl Api {
    pub fn run(self) -> Result<()> {
        print(&self.text()?)
    }

    fn text(&self) -> Result<String> {
        let json = self.json.json;
        if let Some(family) = &self.list {
            let message = |near: Vec<&str>| format!("cutap knows no library {family}; one of {}", near.join(", "));
            return list(family, json).map_err(|unknown| Error::own(message(unknown.near)));
        }
        let mut out = String::new();
        for name in &self.names {
            if name.is_empty() {
                return Err(Error::own("cutap api was given an empty name; cutap api --list LIBRARY lists functions"));
            }
            let pattern = name.contains(['*', '?']) && !name.ends_with("[*]");
            let function = if pattern { matching(name, json) } else { describe(name, json) };
            let text = match function {
                Ok(text) => text,
                Err(Unknown { why: Some(why), .. }) => return Err(Error::own(why)),
                Err(unknown) => of_kernel(name, json).ok_or_else(|| refusal(name, pattern, &unknown.near))?,
            };
            if !out.is_empty() && !json {
                out.push('\n');
            }
            out += &text;
        }
        Ok(out)
    }
}

/// What the kernel driver knows by this name or number. A word without an underscore is no name of its commands.
fn of_kernel(name: &str, json: bool) -> Option<String> {
    let is_number = name.starts_with("0x") || name.bytes().all(|b| b.is_ascii_digit());
    (is_number || name.contains('_')).then(|| command::describe(name, json)).flatten()
}

/// Why there is no answer, and what to type.
fn refusal(name: &str, pattern: bool, near: &[&str]) -> Error {
    Error::own(match () {
        () if list(name, false).is_ok() => {
            format!("{name} is a library or a layer, not a function; cutap api --list {name} has its functions")
        }
        () if Layer::of_name(name).is_some() => {
            format!("{name} is a layer, not a function; cutap help {name} explains it")
        }
        () if pattern => format!("cutap knows no function that matches {name}"),
        () if name.starts_with("0x") => {
            format!("cutap knows no command {name} of the kernel driver; cutap syscall census lists those of a run")
        }
        () if !near.is_empty() => format!("cutap knows no function {name}; did you mean {}?", near.join(" or ")),
        () => format!("cutap knows no function {name}; cutap api --list LIBRARY lists them"),
    })
}
