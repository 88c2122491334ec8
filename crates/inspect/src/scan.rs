//! Bytes that only some library has: the runtime's own tables and version, names of libraries that are
//! opened by name, words of statically linked toolkit libraries. One read of each mapped part.
//!
//! The runtime is recognised by the identifier of a table that each instance answers for
//! (`RUNTIME_NAMES_TABLE`, 16 bytes that nothing else has any use for), and its version by the code of
//! `cudaRuntimeGetVersion`, which writes one constant through its argument. Both were the same in every
//! runtime from 11.1 to 13.5, static or shared, stripped or not.

use crate::Error;
use crate::elf::Image;
use crate::generated::static_toolkits::TOOLKITS;
use memchr::memmem::Finder;
use std::collections::BTreeSet;

/// How a statically linked toolkit library is recognised; see `api/libraries/static.toml`.
pub(crate) struct Toolkit {
    pub(crate) name: &'static str,
    pub(crate) library: &'static [&'static str],
    pub(crate) words: &'static [&'static str],
    pub(crate) kernel: &'static str,
}

/// What the bytes say.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Versions of the CUDA runtimes inside; empty text where the version's code was not found.
    pub(crate) runtimes: BTreeSet<String>,
    /// Watched libraries that are named in the data, so may be opened by name.
    pub(crate) opens: BTreeSet<String>,
    pub(crate) toolkits: Vec<String>,
}

pub(crate) fn scan(image: &Image) -> Result<Found, Error> {
    let mut evidence = Found::default();
    let mut hunt = Hunt::new(image);
    let (identifier, so) = (Finder::new(&cutap_calls::RUNTIME_NAMES_TABLE), Finder::new(".so"));
    let mut runtime = false;
    image.each(false, &mut |bytes| {
        runtime |= identifier.find(bytes).is_some();
        hunt.search(bytes);
        let mut looked_at = 0;
        for at in so.find_iter(bytes) {
            // A string with many of these words needs one look.
            if at < looked_at {
                continue;
            }
            let string = whole_string(bytes, at);
            looked_at = (string.as_ptr_range().end as usize).saturating_sub(bytes.as_ptr() as usize);
            if let Some(name) = watched_library(string) {
                evidence.opens.insert(name);
            }
        }
    })?;
    if let Some(own) = &image.facts.soname {
        evidence.opens.remove(own);
    }
    if runtime {
        image.each(true, &mut |bytes| evidence.runtimes.extend(versions(bytes)))?;
        if evidence.runtimes.is_empty() {
            evidence.runtimes.insert(String::new());
        }
    }
    evidence.toolkits = hunt.caught();
    Ok(evidence)
}

/// Whether there is a runtime inside, alone.
pub(crate) fn runtime(image: &Image) -> Result<bool, Error> {
    let identifier = Finder::new(&cutap_calls::RUNTIME_NAMES_TABLE);
    let mut there = false;
    image.each(false, &mut |bytes| there = there || identifier.find(bytes).is_some())?;
    Ok(there)
}

/// The toolkit libraries alone: less to look for, so quicker.
pub(crate) fn toolkits(image: &Image) -> Result<Vec<String>, Error> {
    let mut hunt = Hunt::new(image);
    image.each(false, &mut |bytes| hunt.search(bytes))?;
    Ok(hunt.caught())
}

/// The words still to be found, over all parts of one file.
struct Hunt {
    patterns: Vec<(Finder<'static>, usize)>,
    kernels: Vec<(Finder<'static>, usize)>,
    /// How many words of each toolkit library are still missing.
    missing: Vec<usize>,
}

impl Hunt {
    fn new(image: &Image) -> Self {
        let soname = image.facts.soname.as_deref().unwrap_or("").as_bytes();
        let mut hunt = Self { patterns: Vec::new(), kernels: Vec::new(), missing: Vec::new() };
        for (n, toolkit) in TOOLKITS.iter().enumerate() {
            let own = toolkit.library.iter().any(|l| cutap_calls::glob(l.as_bytes(), soname));
            hunt.missing.push(if own { usize::MAX } else { toolkit.words.len().max(1) });
            if !own {
                hunt.patterns.extend(toolkit.words.iter().map(|w| (Finder::new(*w), n)));
            }
            if !own && !toolkit.kernel.is_empty() {
                hunt.kernels.push((Finder::new(toolkit.kernel), n));
            }
        }
        hunt
    }

    fn search(&mut self, bytes: &[u8]) {
        let missing = &mut self.missing;
        self.patterns.retain(|(word, n)| {
            let there = word.find_iter(bytes).any(|at| whole_string(bytes, at) == word.needle());
            if there && let Some(left) = missing.get_mut(*n) {
                *left -= 1;
            }
            !there
        });
        self.kernels.retain(|(part, n)| {
            let there = part
                .find_iter(bytes)
                .any(|at| matches!(whole_string(bytes, at), [b'_', b'Z', digit, ..] if digit.is_ascii_digit()));
            if there && let Some(left) = missing.get_mut(*n) {
                *left = 0;
            }
            !there
        });
    }

    fn caught(&self) -> Vec<String> {
        let all = TOOLKITS.iter().zip(&self.missing);
        all.filter(|(_, missing)| **missing == 0).map(|(toolkit, _)| toolkit.name.to_owned()).collect()
    }
}

/// The bytes between two zero bytes around `at`, if that is a string of a sensible length.
fn whole_string(bytes: &[u8], at: usize) -> &[u8] {
    const LONGEST: usize = 1024;
    let (before, after) = bytes.split_at_checked(at).unwrap_or_default();
    let start = before.iter().rev().take(LONGEST).take_while(|b| **b != 0).count();
    let length = after.iter().take(LONGEST).take_while(|b| **b != 0).count();
    bytes.get(at - start..at + length).unwrap_or_default()
}

/// The file name in `string`, if it is a watched library's, with or without a version.
fn watched_library(string: &[u8]) -> Option<String> {
    let name = string.rsplit(|b| *b == b'/').next()?;
    let name = str::from_utf8(name).ok().filter(|n| n.starts_with("lib"))?;
    let with_version = format!("{name}.1");
    let layer = cutap_calls::layer_of(name.as_bytes()).max(cutap_calls::layer_of(with_version.as_bytes()));
    (layer != 0 && !name.contains([' ', '%'])).then(|| name.to_owned())
}

/// `test rdi, rdi; je .+11; mov dword [rdi], VERSION; xor eax, eax`, as in cudaRuntimeGetVersion.
fn versions(code: &[u8]) -> Vec<String> {
    let start = Finder::new(b"\x48\x85\xff\x74\x0b\xc7\x07");
    let mut versions = Vec::new();
    for at in start.find_iter(code) {
        if let Some([a, b, c, d, 0x31, 0xc0]) = code.get(at + 7..at + 13) {
            let version = u32::from_le_bytes([*a, *b, *c, *d]);
            if (9000..100_000).contains(&version) && version % 10 == 0 {
                versions.push(format!("{}.{}", version / 1000, version % 1000 / 10));
            }
        }
    }
    versions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_and_names() {
        assert_eq!(whole_string(b"ab\0cd.so\0", 5), b"cd.so");
        assert_eq!(whole_string(b"cd.so", 2), b"cd.so");
        assert_eq!(watched_library(b"libcuda.so.1").as_deref(), Some("libcuda.so.1"));
        assert_eq!(watched_library(b"libcuda.so").as_deref(), Some("libcuda.so"));
        assert_eq!(watched_library(b"/usr/lib/libcublas.so.12").as_deref(), Some("libcublas.so.12"));
        assert_eq!(watched_library(b"libcudart.so.%d"), None);
        assert_eq!(watched_library(b"cannot open libcuda.so.1"), None);
        assert_eq!(watched_library(b"libc.so.6"), None);
    }

    #[test]
    fn version_code() {
        let code = b"\x90\x48\x85\xff\x74\x0b\xc7\x07\x3a\x2f\0\0\x31\xc0\xc3";
        assert_eq!(versions(code), ["12.9"]);
        assert_eq!(versions(&code[..11]), [""; 0]);
    }
}
