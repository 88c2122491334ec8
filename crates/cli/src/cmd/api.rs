//! `cutap api`: what is known of a function, from the tables of `cutap_report::api`.

use crate::args::JsonArgs;
use crate::stdout::print;
use cutap_collect::{Error, Result};
use cutap_report::api::{Unknown, describe, list, matching};

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
        help = "Exported names (cuMemAlloc_v2), slots ('21318c60[51]'), or patterns ('cuMem*'): those one a line"
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
            let known = |near: Vec<&str>| format!("cutap knows no library {family}; one of {}", near.join(", "));
            return list(family, json).map_err(|unknown| Error::own(known(unknown.near)));
        }
        let mut out = String::new();
        for name in &self.names {
            if name.is_empty() {
                return Err(Error::own("cutap api was given an empty name; cutap api --list LIBRARY lists functions"));
            }
            let pattern = name.contains(['*', '?']) && !name.ends_with("[*]");
            let text = if pattern { matching(name, json) } else { describe(name, json) };
            match text {
                Ok(text) if out.is_empty() || json => out += &text,
                Ok(text) => out = format!("{out}\n{text}"),
                Err(Unknown { why: Some(why), .. }) => return Err(Error::own(why)),
                Err(_) if pattern => {
                    return Err(Error::own(format!("cutap knows no function that matches {name}")));
                }
                Err(unknown) if unknown.near.is_empty() => {
                    let advice = "cutap api --list LIBRARY lists them";
                    return Err(Error::own(format!("cutap knows no function {name}; {advice}")));
                }
                Err(unknown) => {
                    let near = unknown.near.join(" or ");
                    return Err(Error::own(format!("cutap knows no function {name}; did you mean {near}?")));
                }
            }
        }
        Ok(out)
    }
}
