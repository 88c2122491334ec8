//! Checks the file of a hook library: that the loader can load it, that it is a hook library, and that it uses this
//! version of the contract.

use super::Hooks;
use crate::base::error::{Error, Result, reason};
use crate::output::output_file::is_same_file;
use crate::start::environment::can_be_preloaded;
use cutap_hook::contract::{INIT_SYMBOL, VERSION, VERSION_SYMBOL};
use cutap_wire::hooks::LIBRARIES;
use object::elf::{DF_1_PIE, DT_FLAGS_1, EM_AARCH64, EM_X86_64, ET_DYN, PT_LOAD};
use object::read::elf::{Dyn, ElfFile64, FileHeader, ProgramHeader};
use object::{Architecture, Endianness, FileKind, Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, ReadCache};
use std::path::{Path, PathBuf};

/// The libraries, or why one of them cannot be used.
pub fn check(paths: &[PathBuf]) -> Result<Hooks> {
    if paths.len() > LIBRARIES {
        return Err(Error::own(format!("{} hook libraries are too many ({LIBRARIES} fit); join some", paths.len())));
    }
    let mut hooks = Hooks::default();
    for given_path in paths {
        let path_text = given_path.display();
        let refuse = |why: String| Error::own(format!("cannot use the hook library {path_text}: {why}"));
        // Not a name that the loader would look for on its own path: what was looked at is what is loaded.
        let path = std::path::absolute(given_path).unwrap_or_else(|_| given_path.clone());
        if !can_be_preloaded(&path) {
            return Err(refuse(
                "LD_PRELOAD cannot carry a path with a space, a colon or a $; copy it to a folder with a plain path"
                    .into(),
            ));
        }
        check_library(&path).map_err(refuse)?;
        // One file by two names is one library to the loader, which loads it under the first alone.
        if let Some(before) = hooks.0.iter().find(|before| is_same_file(before, &path)) {
            let other_name = if *before == path { String::new() } else { format!(" (also as {})", before.display()) };
            return Err(refuse(format!("it is given twice{other_name}; leave one out")));
        }
        hooks.0.push(path);
    }
    Ok(hooks)
}

/// What its program headers say, which are all that the loader looks at.
fn loads_as_library<'a>(
    file: &ElfFile64<'a, Endianness, &'a ReadCache<std::fs::File>>,
    bytes: &'a ReadCache<std::fs::File>,
    build: &str,
) -> std::result::Result<(), String> {
    let endian = file.endian();
    let headers = file.elf_program_headers();
    let dynamic = headers.iter().find_map(|h| h.dynamic(endian, bytes).ok().flatten());
    let (Some(dynamic), true) = (dynamic, headers.iter().any(|h| h.p_type(endian) == PT_LOAD)) else {
        return Err("the file is damaged (it has nothing to load); build it again".into());
    };
    // It has the type of a library, and the loader loads none of these.
    let flags = dynamic.iter().find(|d| d.tag(endian) == DT_FLAGS_1).map_or(0, |d| d.val(endian));
    match flags & DF_1_PIE.0 {
        0 => Ok(()),
        _ => Err(format!("it is a program, not a shared library; {build}")),
    }
}

fn check_library(path: &Path) -> std::result::Result<(), String> {
    let data = std::fs::metadata(path).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => "there is no such file; check the path".to_owned(),
        _ => format!("{}; check the path", reason(&e)),
    })?;
    if data.is_dir() {
        return Err("it is a folder; name the library in it".into());
    }
    // Reading a pipe or a device may have no end.
    if !data.is_file() {
        return Err("it is a pipe or a device; name a shared library".into());
    }
    let file = std::fs::File::open(path).map_err(|e| format!("{}; make it readable", reason(&e)))?;
    // Only what its headers lead to is read: a file may have any length.
    let bytes = &ReadCache::new(file);
    let build = "build it for x86-64 with gcc -shared -fPIC";
    match FileKind::parse(bytes) {
        Ok(FileKind::Elf64) => {}
        Ok(FileKind::Elf32) => return Err(format!("it is a 32-bit library; {build}")),
        _ => return Err(format!("it is no shared library; {build}")),
    }
    let damaged = |_| "the file is damaged (its ELF headers make no sense); build it again".to_owned();
    let file: ElfFile64<'_, Endianness, _> = ElfFile64::parse(bytes).map_err(damaged)?;
    match file.elf_header().e_machine(file.endian()) {
        EM_X86_64 if file.architecture() == Architecture::X86_64 => {}
        EM_AARCH64 => return Err(format!("it is built for aarch64; {build}")),
        other => return Err(format!("it is built for another processor (ELF machine {other}); {build}")),
    }
    if file.elf_header().e_type(file.endian()) != ET_DYN || file.dynamic_symbol_table().is_none() {
        return Err(format!("it is no shared library; {build}"));
    }
    loads_as_library(&file, bytes, build)?;
    let symbol = |name: &str| {
        let all = file.dynamic_symbol_table()?.symbols();
        all.filter(|s| s.is_definition()).find(|s| s.name() == Ok(name)).map(|s| (s.address(), s.section_index()))
    };
    let header = "write it with cutap_hook.h (cutap hook-header prints it) or the Rust crate cutap-hook";
    if symbol(INIT_SYMBOL).is_none() {
        return Err(format!("it has no entry point {INIT_SYMBOL}; {header}"));
    }
    let Some((address, section)) = symbol(VERSION_SYMBOL) else {
        return Err(format!("it does not say its version ({VERSION_SYMBOL}); {header}"));
    };
    let version = section.and_then(|s| file.section_by_index(s).ok()).and_then(|s| {
        let data = s.data_range(address, 4).ok()??;
        Some(u32::from_le_bytes(data.try_into().ok()?))
    });
    match version {
        Some(VERSION) => Ok(()),
        Some(found) => Err(format!(
            "it was written for version {found} of the hook contract, and this cutap has version {VERSION}; build it \
             again with the header that cutap hook-header prints"
        )),
        None => Err(format!("what it says of its version ({VERSION_SYMBOL}) cannot be read; {header}")),
    }
}
