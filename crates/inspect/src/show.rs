//! The report as text: facts first, then what follows from them.

use crate::report::{Kind, Report};
use cutap_printable::printable;
use std::fmt::{Display, Formatter, Result};

/// So many names of functions are shown; JSON has all.
const SHOWN: usize = 6;

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let kind = match self.kind {
            Kind::Program => "program",
            Kind::Static => "static program",
            Kind::Library => "shared library",
            Kind::Other => "object",
        };
        write!(f, "{}: {kind} for {}", printable(&self.path), self.machine)?;
        match &self.soname {
            Some(soname) => writeln!(f, ", {}", printable(soname))?,
            None => writeln!(f)?,
        }
        for link in &self.links {
            let names = self.functions.iter().filter(|x| x.library.as_deref() == Some(&link.library));
            line(f, "links", &format!("{} ({}){}", link.library, link.layer, list(names.map(|x| x.name.as_str()))))?;
        }
        let linked = |name: &Option<String>| self.links.iter().any(|l| name.as_deref() == Some(&l.library));
        let mut unlinked = self.functions.iter().filter(|x| !linked(&x.library)).peekable();
        if unlinked.peek().is_some() {
            line(f, "expects", &format!("of whoever loads it{}", list(unlinked.map(|x| x.name.as_str()))))?;
        }
        for library in &self.opens {
            line(f, "opens", &format!("{library}, if it calls dlopen with that name"))?;
        }
        for version in &self.runtimes {
            let linkage = if self.facts.exports_runtime { "" } else { ", statically linked" };
            line(f, "contains", &format!("CUDA runtime {version}{linkage}"))?;
        }
        for toolkit in &self.static_toolkits {
            line(f, "contains", &format!("{toolkit}, statically linked"))?;
        }
        for route in &self.routes {
            line(f, "seen", &format!("by {}: {}", route.route, route.catches))?;
        }
        for what in &self.not_seen {
            line(f, "not seen", what)?;
        }
        for note in &self.notes {
            line(f, "note", note)?;
        }
        Ok(())
    }
}

fn line(f: &mut Formatter<'_>, head: &str, text: &str) -> Result {
    writeln!(f, "  {head:<9} {}", printable(text))
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    let first_names: Vec<&str> = names.iter().take(SHOWN).copied().collect();
    match names.len() {
        0 => String::new(),
        n if n <= SHOWN => format!(": {}", first_names.join(", ")),
        n => format!(": {}, and {} more", first_names.join(", "), n - SHOWN),
    }
}
