//! `cutap api`: what the registry knows, as text for standard output. What it knows is
//! `cutap_report::api`'s affair; here is only what is said of a name that it does not know.

use crate::words::Api;
use cutap_collect::Error;
use cutap_report::api::{describe, list, matching};

/// The text, or the sentence on a name that is not known.
pub fn run(words: &Api) -> Result<String, Error> {
    if let Some(family) = &words.list {
        let known = |near: Vec<&str>| format!("cutap knows no library {family}; one of {}", near.join(", "));
        return list(family, words.json).map_err(|unknown| Error::own(known(unknown.near)));
    }
    let mut out = String::new();
    for name in &words.names {
        if name.is_empty() {
            return Err(Error::own(
                "cutap api was given an empty name; cutap api --list LIBRARY lists functions".to_owned(),
            ));
        }
        let pattern = name.contains(['*', '?']);
        let text = if pattern { matching(name, words.json) } else { describe(name, words.json) };
        match text {
            Ok(text) if out.is_empty() || words.json => out += &text,
            Ok(text) => out = format!("{out}\n{text}"),
            Err(_) if pattern => {
                return Err(Error::own(format!("cutap knows no function that matches {name}")));
            }
            Err(unknown) if unknown.near.is_empty() => {
                return Err(Error::own(format!("cutap knows no function {name}; cutap api --list LIBRARY lists them")));
            }
            Err(unknown) => {
                let near = unknown.near.join(" or ");
                return Err(Error::own(format!("cutap knows no function {name}; did you mean {near}?")));
            }
        }
    }
    Ok(out)
}
