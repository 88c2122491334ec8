//! `cargo xtask import-rm CHECKOUT...`: what a release of NVIDIA's open kernel modules says of the interface to the
//! kernel driver, written to `api/kernel/RELEASE/`. Takes names, numbers and layouts; never a comment or code.
//!
//! Names come from the ids that the driver registers and from FINN's message ids, never from a macro that merely has
//! the same value.

mod checkout;
mod classes;
mod controls;
mod pointers;
#[path = "../../../registry/src/kernel/release.rs"]
mod release;
mod text;
mod types;
mod uvm;
mod verify;
mod write;

use crate::decls::Decls;
use anyhow::{Context, Result, anyhow, bail};
use checkout::Checkout;
use release::{Release, Rows, order};
use std::path::Path;

/// The release that is written in full; the others are differences from their neighbour on its side.
const COMPLETE: &str = "580.142";

/// Reads the checkouts and writes their releases, and those that are written as a difference from one of them.
pub fn import_rm(root: &Path, checkouts: &[&str]) -> Result<()> {
    if checkouts.is_empty() {
        bail!("no checkout was named; `cargo xtask import-rm DIR...` needs trees of NVIDIA/open-gpu-kernel-modules");
    }
    let folder = root.join("api/kernel");
    let mut releases = release::read_all(&folder).map_err(|e| anyhow!(e))?;
    for path in checkouts {
        let release = read(root, Path::new(path)).with_context(|| (*path).to_owned())?;
        releases.retain(|r| branch(&r.version) != branch(&release.version));
        releases.push(release);
    }
    releases.sort_by_key(|r| order(&r.version));
    write_all(&folder, &releases)
}

/// Proves that the committed files are what the checkouts say.
pub fn check_rm(root: &Path, checkouts: &[&str]) -> Result<()> {
    let releases = release::read_all(&root.join("api/kernel")).map_err(|e| anyhow!(e))?;
    for path in checkouts {
        let fresh = read(root, Path::new(path)).with_context(|| (*path).to_owned())?;
        if !releases.contains(&fresh) {
            bail!("api/kernel/{} is not what {path} says; run `cargo xtask import-rm {path}`", fresh.version);
        }
        println!("{}: api/kernel is current", fresh.version);
    }
    Ok(())
}

fn branch(version: &str) -> &str {
    version.split('.').next().unwrap_or(version)
}

fn read(root: &Path, path: &Path) -> Result<Release> {
    let checkout = Checkout::open(path)?;
    let headers = checkout.headers(root)?;
    let decls = Decls::of(&headers.reading().tree()?);
    let mut types = types::Types::of(&decls);
    let mut release = Release { version: checkout.version.clone(), ..Release::default() };
    let mut put = |section: &str, rows: Rows| drop(release.rows.insert(section.to_owned(), rows));
    put("escapes", checkout.escapes()?);
    for name in checkout.overlay_types(root)? {
        types.add_optional(&name);
    }
    put("controls", controls::rows(&checkout, &mut types)?);
    put("classes", classes::rows(&checkout, &mut types)?);
    put("uvm", uvm::rows(&checkout, &mut types)?);
    put("statuses", checkout.statuses()?);
    put("modeset", checkout.modeset()?);
    put("pointers", pointers::rows(&checkout, &mut types)?);
    types.follow()?;
    put("scalars", types.scalars.clone());
    put("enums", types.enums.clone());
    let layouts = headers.reading().layouts(&types.probes())?;
    release.records = types.records;
    let compared = verify::check(&release.records, &layouts)?;
    let counts: Vec<String> = release.rows.iter().map(|(name, rows)| format!("{} {name}", rows.len())).collect();
    println!(
        "{}: {}, {} structs; {compared} offsets are the compiler's",
        release.version,
        counts.join(", "),
        release.records.len()
    );
    Ok(release)
}

fn write_all(folder: &Path, releases: &[Release]) -> Result<()> {
    let complete = releases.iter().position(|r| branch(&r.version) == branch(COMPLETE));
    let complete = complete.with_context(|| format!("import a release of branch {} first", branch(COMPLETE)))?;
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        // A release without these words is written by people.
        let imported = std::fs::read_to_string(entry.path().join("numbers.toml"));
        let imported = imported.is_ok_and(|text| text.contains(write::BY_IMPORT));
        let stale = imported && releases.iter().all(|r| r.version != name);
        if stale {
            std::fs::remove_dir_all(entry.path()).with_context(|| entry.path().display().to_string())?;
        }
    }
    for (at, release) in releases.iter().enumerate() {
        let base = match at.cmp(&complete) {
            std::cmp::Ordering::Less => releases.get(at + 1),
            std::cmp::Ordering::Equal => None,
            std::cmp::Ordering::Greater => releases.get(at - 1),
        };
        let (numbers, structs) = release.texts(base);
        let to = folder.join(&release.version);
        std::fs::create_dir_all(&to).with_context(|| to.display().to_string())?;
        std::fs::write(to.join("numbers.toml"), numbers)?;
        std::fs::write(to.join("structs.toml"), structs)?;
    }
    println!("wrote {} releases to {}; now run `cargo xtask codegen`", releases.len(), folder.display());
    Ok(())
}
