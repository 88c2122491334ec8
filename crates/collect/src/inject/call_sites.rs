//! Call sites that a run counted: lines of function, module, offset and calls, for `cutap chaos`.

use super::run_file::RunFile;
use crate::base::error::{Error, Result, cannot};
use cutap_calls::{Role, has_role};
use cutap_hook::contract;
use cutap_wire::injected::{Head, MODULE, NAME, SITES, Site, part};
use std::fmt::Write as _;
use std::mem::offset_of;
use std::path::Path;

/// A place in the program that calls a function.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallSite {
    /// `driver`, `runtime` or `library`.
    pub layer: String,
    pub function: String,
    pub module: String,
    pub offset: u64,
}

/// Writes what a run has counted.
pub fn write_sites(run: &Path, to: &Path) -> Result<()> {
    let mut text = String::new();
    if let Some(file) = RunFile::read(run) {
        let classes = file.half(offset_of!(Head, classes)).map_or(0, |classes| classes as usize);
        for n in 0..SITES {
            let at = part::sites(classes) + n * size_of::<Site>();
            if file.half(at + offset_of!(Site, is_written)) != Some(1) {
                continue;
            }
            let word = |offset| file.word(at + offset).unwrap_or(0);
            let layer = match file.half(at + offset_of!(Site, layer)) {
                Some(contract::DRIVER) => "driver",
                Some(contract::RUNTIME) => "runtime",
                _ => "library",
            };
            let (function, module) =
                (file.text(at + offset_of!(Site, function), NAME), file.text(at + offset_of!(Site, module), MODULE));
            // Every program makes them, most inside of a runtime that is linked into it.
            let looks_up = [Role::ProcAddress, Role::ExportTable, Role::DriverVersion];
            if looks_up.into_iter().any(|role| has_role(function.as_bytes(), role)) {
                continue;
            }
            let (offset, calls) = (word(offset_of!(Site, offset)), word(offset_of!(Site, calls)));
            let _ = writeln!(text, "{layer}\t{function}\t{module}\t{offset:#x}\t{calls}");
        }
    }
    std::fs::write(to, text).map_err(|e| cannot("write", to, &e, "give a file in a folder that exists"))
}

/// Reads such lines: each site with its number of calls.
pub fn read_sites(from: &Path) -> Result<Vec<(CallSite, u64)>> {
    let text = std::fs::read_to_string(from).map_err(|e| cannot("read", from, &e, "run it again"))?;
    let of = |line: &str| {
        let mut parts = line.split('\t').map(str::to_owned);
        let (layer, function, module) = (parts.next()?, parts.next()?, parts.next()?);
        let offset = u64::from_str_radix(parts.next()?.strip_prefix("0x")?, 16).ok()?;
        let calls = parts.next()?.parse().ok()?;
        Some((CallSite { layer, function, module, offset }, calls))
    };
    let sites = text.lines().map(|line| of(line).ok_or_else(|| Error::own(format!("{line} is no call site"))));
    let mut sites: Vec<(CallSite, u64)> = sites.collect::<Result<_>>()?;
    sites.sort();
    Ok(sites)
}
