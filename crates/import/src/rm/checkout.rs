//! A tree of NVIDIA/open-gpu-kernel-modules: its version, its files, and what clang reads from its headers.

use super::release::Rows;
use super::text::{arguments, define, number, plain};
use crate::clang::Reading;
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The public headers of RM.
const SDK: &str = "src/common/sdk/nvidia/inc";
/// The structs and numbers of the escapes.
const UNIX: &str = "src/nvidia/arch/nvalloc/unix/include";
/// The UVM driver.
pub(super) const UVM: &str = "kernel-open/nvidia-uvm";

pub(super) struct Checkout {
    path: PathBuf,
    pub(super) version: String,
}

/// A set of headers, and where they are.
pub(super) struct Headers {
    headers: Vec<String>,
    folders: Vec<PathBuf>,
}

impl Headers {
    /// For clang.
    pub(super) fn reading(&self) -> Reading<'_> {
        Reading {
            headers: self.headers.iter().map(String::as_str).collect(),
            folders: &self.folders,
            defines: vec!["NV_UNIX", "NV_LINUX", "NVRM"],
            cxx: false,
        }
    }
}

#[derive(Deserialize)]
struct Overlay {
    escapes: BTreeMap<String, Vec<String>>,
    pointers: Vec<String>,
}

impl Checkout {
    /// A folder that has `version.mk`.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let advice = "this is no tree of NVIDIA/open-gpu-kernel-modules; check out a release tag and name its folder";
        let text = std::fs::read_to_string(path.join("version.mk")).context(advice)?;
        let version = text.lines().find_map(|l| l.strip_prefix("NVIDIA_VERSION =")).context(advice)?.trim().to_owned();
        Ok(Self { path: path.canonicalize()?, version })
    }

    /// A file's text.
    pub(super) fn text(&self, file: &str) -> Result<String> {
        let bytes = std::fs::read(self.path.join(file)).with_context(|| format!("{} {file}", self.version))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The files under a folder whose name has this end, sorted, as paths from the checkout.
    pub(super) fn files(&self, folder: &str, end: &str) -> Result<Vec<String>> {
        let mut paths = Vec::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(self.path.join(&folder)).with_context(|| folder.clone())? {
                let entry = entry?;
                let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
                if entry.file_type()?.is_dir() {
                    folders.push(name);
                } else if name.ends_with(end) {
                    paths.push(name);
                }
            }
        }
        paths.sort();
        Ok(paths)
    }

    /// All public headers, the escapes' and UVM's, for one reading.
    pub(super) fn headers(&self, root: &Path) -> Result<Headers> {
        let mut headers: Vec<String> = Vec::new();
        for file in self.files(SDK, ".h")? {
            let name = file.trim_start_matches(SDK).trim_start_matches('/').to_owned();
            // The driver's own compiler's words, and no type.
            if !name.contains("stdarg") && name != "cc_drv.h" {
                headers.push(name);
            }
        }
        for file in self.files(UNIX, ".h")? {
            let name = file.trim_start_matches(UNIX).trim_start_matches('/');
            if name.starts_with("nv-ioctl") || name == "nv-unix-nvos-params-wrappers.h" {
                headers.push(name.to_owned());
            }
        }
        headers.extend(["uvm_ioctl.h", "uvm_linux_ioctl.h", "uvm_test_ioctl.h"].map(str::to_owned));
        let folders = [SDK, "src/common/inc", UNIX, UVM, "kernel-open/common/inc"].iter().map(|f| self.path.join(f));
        Ok(Headers { headers, folders: folders.chain([root.join("crates/import/stubs")]).collect() })
    }

    /// Numbers of the escapes: RM's own, and those that are counted from a base.
    pub(super) fn escapes(&self) -> Result<Rows> {
        let mut rows = Rows::new();
        let mut base = 0;
        let texts = [self.text(&format!("{UNIX}/nv-ioctl-numbers.h"))?, self.text(&format!("{UNIX}/nv_escape.h"))?];
        let headers = self.files(UNIX, ".h")?;
        let more = headers.iter().filter(|f| f.contains("nv-ioctl-") && !f.contains("numbers"));
        let more: Result<Vec<String>> = more.map(|f| self.text(f)).collect();
        for text in texts.iter().chain(&more?) {
            for (name, value) in plain(text).lines().filter_map(define) {
                let value = value.trim_start_matches('(').trim_end_matches(')');
                let value = match value.strip_prefix("NV_IOCTL_BASE +") {
                    Some(offset) => number(offset).map(|n| n + base),
                    None => number(value),
                };
                match (name, value) {
                    ("NV_IOCTL_BASE", Some(value)) => base = value,
                    (name, Some(value)) if name.starts_with("NV_ESC_") => {
                        rows.insert(format!("{value:#04x}"), name.to_owned());
                    }
                    _ => {}
                }
            }
        }
        ensure!(rows.len() > 30, "{}: only {} escapes were found", self.version, rows.len());
        Ok(rows)
    }

    /// The types that only the overlay names: structs of escapes, elements behind pointers.
    pub(super) fn overlay_types(&self, root: &Path) -> Result<Vec<String>> {
        let path = root.join("api/kernel/overlay.toml");
        let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let overlay: Overlay = toml::from_str(&text).with_context(|| path.display().to_string())?;
        let elements = overlay.pointers.iter().filter_map(|row| row.split(' ').nth(1).map(str::to_owned));
        Ok(overlay.escapes.into_values().flatten().chain(elements).collect())
    }

    /// Names of status codes.
    pub(super) fn statuses(&self) -> Result<Rows> {
        let text = plain(&self.text(&format!("{SDK}/nvstatuscodes.h"))?);
        let mut rows = Rows::new();
        for call in text.split("NV_STATUS_CODE(").skip(1) {
            let Some((words, _)) = arguments(call) else { continue };
            if let [name, value, ..] = words[..]
                && let Some(value) = number(value)
            {
                rows.insert(format!("{value:#06x}"), name.to_owned());
            }
        }
        ensure!(rows.len() > 100, "{}: only {} status codes were found", self.version, rows.len());
        Ok(rows)
    }

    /// Names of the modeset commands.
    pub(super) fn modeset(&self) -> Result<Rows> {
        let text = plain(&self.text("src/nvidia-modeset/interface/nvkms-api.h")?);
        let body = super::text::between(&text, "enum NvKmsIoctlCommand {", "}").context("no enum NvKmsIoctlCommand")?;
        let names = body.split(',').map(str::trim).filter(|n| !n.is_empty());
        ensure!(!body.contains('='), "enum NvKmsIoctlCommand has values of its own now: read it with clang");
        Ok(names.enumerate().map(|(n, name)| (n.to_string(), name.to_owned())).collect())
    }
}
