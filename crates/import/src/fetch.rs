//! The headers of a wheel: from the cache, else with pip from PyPI, one wheel at a time. Only the
//! include folder is kept. Must never put a file of NVIDIA's outside the cache.

use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where headers are kept: `$CUTAP_CACHE`, else `.cache` in the repository.
pub(crate) fn cache(root: &Path) -> PathBuf {
    std::env::var_os("CUTAP_CACHE").map_or_else(|| root.join(".cache"), PathBuf::from).join("headers")
}

/// The include folder of a wheel, written `package==version`.
pub(crate) fn headers(cache: &Path, wheel: &str) -> Result<PathBuf> {
    let folder = cache.join(wheel.replace("==", "-"));
    let include = folder.join("include");
    if include.is_dir() {
        return Ok(include);
    }
    println!("fetching {wheel}");
    let work = cache.join(format!("{}.part", wheel.replace("==", "-")));
    let _ = std::fs::remove_dir_all(&work);
    std::fs::create_dir_all(&work).with_context(|| work.display().to_string())?;
    let outcome = fetch(wheel, &work).and_then(|found| {
        std::fs::create_dir_all(&folder)?;
        std::fs::rename(&found, &include).with_context(|| format!("keeping {}", found.display()))
    });
    std::fs::remove_dir_all(&work).with_context(|| work.display().to_string())?;
    outcome.map(|()| include)
}

fn fetch(wheel: &str, work: &Path) -> Result<PathBuf> {
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]);
    pip.args(["--only-binary=:all:", "--dest", "."]).arg(wheel).current_dir(work);
    let output = pip.output().context("python3 with pip is needed to fetch wheels")?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!("{wheel} could not be fetched: {}", stderr.lines().last().unwrap_or("pip said nothing"));
    }
    let file = std::fs::read_dir(work)?.flatten().map(|e| e.path()).find(|p| p.extension().is_some_and(|e| e == "whl"));
    let file = file.with_context(|| format!("pip fetched no wheel for {wheel}"))?;
    let unzip = "import sys, zipfile\nwith zipfile.ZipFile(sys.argv[1]) as z:\n z.extractall('x', [n for n in \
                 z.namelist() if '/include/' in n])";
    let status = Command::new("python3").args(["-c", unzip]).arg(&file).current_dir(work).status()?;
    ensure!(status.success(), "{wheel} is no readable wheel; remove it from pip's cache and try again");
    std::fs::remove_file(&file)?;
    include(&work.join("x")).with_context(|| format!("{wheel} holds no include folder"))
}

/// The first folder of that name below.
fn include(at: &Path) -> Option<PathBuf> {
    let mut folders: Vec<PathBuf> = std::fs::read_dir(at).ok()?.flatten().map(|e| e.path()).collect();
    folders.retain(|p| p.is_dir());
    folders.sort();
    let include_folder = folders.iter().find(|p| p.file_name().is_some_and(|n| n == "include"));
    include_folder.cloned().or_else(|| folders.iter().find_map(|p| include(p)))
}
