//! `cargo xtask import-nvproxy GIT-FOLDER TAG`: what gVisor's nvproxy lets through, for each driver that it knows,
//! written to `api/kernel/nvproxy.toml`. Takes names, numbers and capabilities; never a comment or code.

use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// nvproxy's maps, and the kinds of requests as `cutap syscall census` names them.
const MAPS: [(&str, &str); 4] =
    [("frontendIoctl", "escape"), ("uvmIoctl", "uvm"), ("controlCmd", "control"), ("allocationClass", "class")];

/// What one driver may send: by kind and name, the capabilities of which one is needed.
type Permitted = BTreeMap<(&'static str, String), String>;

/// A driver's version, in the order of releases.
type Version = Vec<u32>;

/// Reads a release of gVisor and writes the file.
pub fn import_nvproxy(root: &Path, folder: &str, tag: &str) -> Result<()> {
    let source = |path: &str| {
        let output = Command::new("git").args(["-C", folder, "show", &format!("{tag}:{path}")]).output()?;
        if !output.status.success() {
            bail!("{folder} has no {path} in {tag}: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(String::from_utf8(output.stdout)?)
    };
    let mut numbers = BTreeMap::new();
    for file in ["classes", "ctrl", "frontend", "nvgpu", "uvm"] {
        constants(&source(&format!("pkg/abi/nvgpu/{file}.go"))?, &mut numbers);
    }
    let drivers = drivers(&source("pkg/sentry/devices/nvproxy/version.go")?)?;
    let text = file(tag, &drivers, &numbers)?;
    let at = root.join("api/kernel/nvproxy.toml");
    std::fs::write(&at, text).with_context(|| at.display().to_string())?;
    println!("wrote {} with {} drivers; now run `cargo xtask codegen`", at.display(), drivers.len());
    Ok(())
}

/// `NAME = 0x1f`, `NAME = BASE + 2`, `NAME = BASE - 1`.
fn constants(text: &str, numbers: &mut BTreeMap<String, u32>) {
    for line in text.lines() {
        let Some((name, value)) = line.split("//").next().and_then(|line| line.split_once('=')) else { continue };
        let of = |term: &str| term_value(term.trim(), numbers);
        let value = match (value.split_once('+'), value.split_once('-')) {
            (Some((a, b)), _) => of(a).zip(of(b)).map(|(a, b)| a + b),
            (_, Some((a, b))) => of(a).zip(of(b)).map(|(a, b)| a - b),
            _ => of(value),
        };
        if let Some(value) = value {
            numbers.insert(name.trim().to_owned(), value);
        }
    }
}

fn term_value(term: &str, numbers: &BTreeMap<String, u32>) -> Option<u32> {
    match term.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => term.parse().ok().or_else(|| numbers.get(term).copied()),
    }
}

/// Each driver with what it may send. A driver's function begins with the function of an earlier driver and changes
/// what that one returned.
fn drivers(text: &str) -> Result<BTreeMap<Version, Permitted>> {
    let mut named: BTreeMap<&str, Permitted> = BTreeMap::new();
    let mut all = BTreeMap::new();
    let mut now: Option<(&str, Version, Permitted)> = None;
    // The map of the first driver's literal that the lines belong to.
    let mut literal = None;
    for line in text.lines().map(str::trim) {
        if let Some((name, version, base)) = declaration(line) {
            finish(&mut now, &mut named, &mut all);
            let permitted = match base {
                Some(base) => named.get(base).cloned().with_context(|| format!("{base} has no driver"))?,
                None => Permitted::new(),
            };
            now = Some((name, version, permitted));
            literal = None;
            continue;
        }
        let Some((_, _, permitted)) = &mut now else { continue };
        if let Some(base) =
            line.strip_prefix("abi := ").and_then(|rest| rest.strip_suffix("()")).filter(|base| base.starts_with('v'))
        {
            *permitted = named.get(base).cloned().with_context(|| format!("{base} has no driver"))?;
        } else if let Some((kind, name)) = line.strip_prefix("delete(abi.").and_then(deleted) {
            permitted.remove(&(kind, name));
        } else if let Some((kind, name, handler)) = line.strip_prefix("abi.").and_then(assigned) {
            permitted.insert((kind, name), capabilities(handler));
        } else if let Some((_, kind)) = MAPS.iter().find(|(map, _)| line.starts_with(&format!("{map}: map["))) {
            literal = Some(*kind);
        } else if line == "}," {
            literal = None;
        } else if let (Some(kind), Some((name, handler))) = (literal, entry(line)) {
            permitted.insert((kind, name.to_owned()), capabilities(handler));
        }
    }
    finish(&mut now, &mut named, &mut all);
    let newest = all.last_key_value().map_or(0, |(_, permitted)| permitted.len());
    if all.len() < 20 || newest < 300 {
        bail!("{} drivers and {newest} requests of the newest were found; version.go has another form", all.len());
    }
    Ok(all)
}

fn finish<'a>(
    now: &mut Option<(&'a str, Version, Permitted)>,
    named: &mut BTreeMap<&'a str, Permitted>,
    all: &mut BTreeMap<Version, Permitted>,
) {
    if let Some((name, version, permitted)) = now.take() {
        all.insert(version, permitted.clone());
        named.insert(name, permitted);
    }
}

/// `v580_65_06 := addDriverABI(580, 65, 06, "..", "..", v575)` and the like: the name, the version and, where no
/// function follows, the driver that it equals.
fn declaration(line: &str) -> Option<(&str, Version, Option<&str>)> {
    let (name, call) = line.split_once(" := ").or_else(|| line.split_once(" = "))?;
    let words = call.strip_prefix("addDriverABI(").or_else(|| call.strip_prefix("addUnsupportedDriverABI("))?;
    let words: Vec<&str> = words.split("//").next()?.split(',').map(str::trim).collect();
    let version = words.iter().take(3).map(|word| word.parse().ok()).collect::<Option<Version>>()?;
    let base = words.last()?.strip_suffix(')').filter(|base| base.starts_with('v'));
    Some((name, version, base))
}

/// `controlCmd, nvgpu.NAME)`.
fn deleted(rest: &str) -> Option<(&'static str, String)> {
    let (map, name) = rest.split_once(", nvgpu.")?;
    Some((kind(map)?, name.strip_suffix(')')?.to_owned()))
}

/// `controlCmd[nvgpu.NAME] = HANDLER`.
fn assigned(rest: &str) -> Option<(&'static str, String, &str)> {
    let (map, rest) = rest.split_once("[nvgpu.")?;
    let (name, handler) = rest.split_once("] = ")?;
    Some((kind(map)?, name.to_owned(), handler))
}

/// `nvgpu.NAME: HANDLER,`.
fn entry(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("nvgpu.")?.split_once(':')
}

fn kind(map: &str) -> Option<&'static str> {
    MAPS.iter().find(|(name, _)| *name == map).map(|(_, kind)| *kind)
}

/// The last argument of a handler: `compUtil|nvconf.CapGraphics` is `compute,utility,graphics`.
fn capabilities(handler: &str) -> String {
    let handler = handler.split("//").next().unwrap_or(handler).trim().trim_end_matches([')', ',']);
    let last = handler.rsplit(',').next().unwrap_or(handler);
    let words = last.split('|').map(|word| match word.trim() {
        "compUtil" => "compute,utility".to_owned(),
        word => word.trim_start_matches("nvconf.Cap").to_lowercase(),
    });
    words.collect::<Vec<_>>().join(",")
}

fn file(tag: &str, drivers: &BTreeMap<Version, Permitted>, numbers: &BTreeMap<String, u32>) -> Result<String> {
    let versions: Vec<String> = drivers.keys().map(|version| version_text(version)).collect();
    let mut out = format!(
        "# What gVisor's nvproxy lets through. Written by `cargo xtask import-nvproxy`; SCHEMA.md says what the words \
         mean.\n\nsource = \"https://github.com/google/gvisor, {tag}, pkg/sentry/devices/nvproxy/version.go\"\n\
         release = \"{tag}\"\n\n# Drivers that it knows.\ndrivers = {versions:?}\n\n# `KIND NUMBER NAME CAPABILITIES \
         FIRST-DRIVER [FIRST-DRIVER-WITHOUT]`; one of the capabilities is needed.\npermitted = [\n"
    );
    // By kind, number, name, capabilities and first driver: the first driver without.
    let mut rows: BTreeMap<(&str, u32, &str, &str, usize), Option<usize>> = BTreeMap::new();
    let mut open: BTreeMap<(&str, u32, &str, &str), usize> = BTreeMap::new();
    for (at, permitted) in drivers.values().enumerate() {
        let mut present = BTreeMap::new();
        for ((kind, name), capabilities) in permitted {
            let number = *numbers.get(name).with_context(|| format!("nvgpu has no number of {name}"))?;
            present.insert((*kind, number, name.as_str(), capabilities.as_str()), at);
        }
        for (key, first) in &open {
            if !present.contains_key(key) {
                rows.insert((key.0, key.1, key.2, key.3, *first), Some(at));
            }
        }
        open.retain(|key, _| present.contains_key(key));
        for (key, at) in present {
            open.entry(key).or_insert(at);
        }
    }
    rows.extend(open.into_iter().map(|(key, first)| ((key.0, key.1, key.2, key.3, first), None)));
    for ((kind, number, name, capabilities, first), until) in rows {
        let first = versions.get(first).context("a driver")?;
        write!(out, "  \"{kind} {number:#x} {name} {capabilities} {first}")?;
        if let Some(until) = until.and_then(|at| versions.get(at)) {
            write!(out, " {until}")?;
        }
        out.push_str("\",\n");
    }
    out.push_str("]\n");
    Ok(out)
}

/// `[580, 65, 6]` is `580.65.06`, as NVIDIA writes it.
fn version_text(version: &[u32]) -> String {
    let words: Vec<String> =
        version.iter().enumerate().map(|(at, n)| if at == 0 { n.to_string() } else { format!("{n:02}") }).collect();
    words.join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_version_go() {
        let of = |line| declaration(line).map(|(name, version, base)| (name, version_text(&version), base));
        assert_eq!(
            of("_ = addDriverABI(580, 173, 02, \"8d\", \"d6\", v580_159_04) // Internal."),
            Some(("_", "580.173.02".into(), Some("v580_159_04")))
        );
        assert_eq!(
            of("v610 := addUnsupportedDriverABI(610, 43, 02, func() *driverABI {"),
            Some(("v610", "610.43.02".into(), None))
        );
        assert_eq!(
            assigned("uvmIoctl[nvgpu.UVM_FREE] = uvmHandler(uvmIoctlSimple[nvgpu.UVM_FREE_PARAMS_V590], compUtil)")
                .map(|(kind, name, handler)| (kind, name, capabilities(handler))),
            Some(("uvm", "UVM_FREE".into(), "compute,utility".into()))
        );
        assert_eq!(capabilities(" feHandler(rmAllocMemory, compUtil|nvconf.CapGraphics),"), "compute,utility,graphics");
    }

    #[test]
    fn a_request_that_goes_away() {
        let numbers = BTreeMap::from([("A".to_owned(), 1), ("B".to_owned(), 2)]);
        let row = |name: &str| ((("uvm"), name.to_owned()), "compute".to_owned());
        let drivers = BTreeMap::from([
            (vec![1, 0, 0], Permitted::from([row("A"), row("B")])),
            (vec![2, 0, 0], Permitted::from([row("A")])),
        ]);
        let text = file("t", &drivers, &numbers).unwrap();
        assert!(
            text.contains("\"uvm 0x1 A compute 1.00.00\"") && text.contains("\"uvm 0x2 B compute 1.00.00 2.00.00\"")
        );
    }
}
