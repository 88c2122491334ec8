//! The release preload, as the loader sees it. It runs in processes of other programs. So it must not contain panic
//! machinery or allocate memory, and must need no library. It must have no symbol version, because it is loaded with
//! every libc. It exports only the names of a list.

use anyhow::{Context, Result};
use object::elf::{DT_NEEDED, DT_RELR, DT_VERNEED};
use object::read::elf::{Dyn, ElfFile64, FileHeader, ProgramHeader};
use object::{Endianness, Object, ObjectSymbol};
use std::path::Path;

const EXPORTS: &[&str] = &[
    "dladdr",
    "dladdr1",
    "dlopen",
    "dlsym",
    "dlvsym",
    "prctl",
    "syscall",
    "vfork",
    "execve",
    "execv",
    "execvpe",
    "execvp",
    "fexecve",
    "posix_spawn",
    "posix_spawnp",
    "execl",
    "execlp",
    "execle",
    "execveat",
    "cutap_gpu_row",
    "cutap_gpu_name",
    "cutap_gpu_wanted",
    "InitializeInjectionNvtx2",
    "InitializeInjectionNvtx",
    "InitializeInjectionNvtxExtension",
];

const ALLOCATION: &[&str] =
    &["malloc", "calloc", "realloc", "free", "posix_memalign", "aligned_alloc", "memalign", "reallocarray"];

pub(super) fn check(path: &Path, wrong: &mut Vec<String>) -> Result<()> {
    let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
    for complaint in complaints(&bytes).with_context(|| path.display().to_string())? {
        wrong.push(format!("the release preload {complaint}"));
    }
    Ok(())
}

fn complaints(bytes: &[u8]) -> Result<Vec<String>> {
    let file: ElfFile64<'_, Endianness> = ElfFile64::parse(bytes)?;
    let mut wrong = Vec::new();
    // Names of functions inside it are only in the full symbol table.
    if file.symbols().next().is_none() {
        wrong.push("is stripped, so it cannot be checked for panic machinery".to_owned());
    }
    for symbol in file.symbols().chain(file.dynamic_symbols()) {
        let name = symbol.name().unwrap_or("");
        // "panicking" with its length is in the name under both of rustc's manglings.
        if name.contains("9panicking") {
            wrong.push(format!("holds panic machinery: {name}"));
        }
        if ALLOCATION.contains(&name) || name.contains("__rust_alloc") || name.contains("__rdl_alloc") {
            wrong.push(format!("allocates: {name}"));
        }
    }
    for symbol in file.dynamic_symbols() {
        let name = symbol.name().unwrap_or("");
        if symbol.is_definition() && symbol.is_global() && !EXPORTS.contains(&name) {
            wrong.push(format!("exports {name}; allowed are {}", EXPORTS.join(", ")));
        }
        if symbol.is_undefined() && !symbol.is_weak() && !name.is_empty() {
            wrong.push(format!("needs {name}; declare it weak, and go without where it is absent"));
        }
    }
    for expected in EXPORTS {
        if !file.dynamic_symbols().any(|s| s.is_definition() && s.name() == Ok(expected)) {
            wrong.push(format!("does not export {expected}"));
        }
    }
    let endian = file.endian();
    for segment in file.elf_header().program_headers(endian, bytes)? {
        for entry in segment.dynamic(endian, bytes)?.unwrap_or_default() {
            match entry.d_tag(endian) {
                DT_NEEDED => wrong.push("has DT_NEEDED".to_owned()),
                DT_RELR => wrong.push("has DT_RELR, which glibc knows since 2.36 and musl since 1.2.4".to_owned()),
                DT_VERNEED => wrong.push("asks for versioned symbols".to_owned()),
                _ => {}
            }
        }
    }
    wrong.sort();
    wrong.dedup();
    Ok(wrong)
}

#[cfg(test)]
mod tests {
    use super::complaints;

    /// The test program itself breaks most rules.
    #[test]
    fn an_ordinary_program_fails() {
        let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let wrong = complaints(&bytes).unwrap().join("\n");
        for part in ["panic machinery", "allocates: malloc", "has DT_NEEDED", "versioned", "does not export dlsym"] {
            assert!(wrong.contains(part), "{part} in {wrong}");
        }
    }
}
