//! The file of the run directory: limits and rules as the hook library reads them.

use super::interface;
use super::memory_limit::MemoryLimit;
use crate::base::error::{Error, Result};
use cutap_hook::contract;
use cutap_wire::limited::{HEAD, Head, Kind, MAGIC, PATH, ROW, Row};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The file's bytes.
pub fn file_bytes(limits: &[MemoryLimit], accounts: &Path) -> Result<Vec<u8>> {
    MemoryLimit::check(limits)?;
    let path = accounts.as_os_str().as_bytes();
    if path.len() >= PATH {
        return Err(Error::own(format!("the path {} is too long; give a shorter one", accounts.display())));
    }
    let lacks = || Error::own("a table of cutap lacks what --limit-memory needs; this is a defect of cutap");
    // SAFETY: all zero is a valid head.
    let mut head: Head = unsafe { std::mem::zeroed() };
    head.magic = MAGIC;
    head.version = cutap_wire::VERSION;
    head.places = interface::places().ok_or_else(lacks)?;
    head.numbers = interface::numbers().ok_or_else(lacks)?;
    head.formats = interface::formats();
    put(&mut head.accounts, path);
    for (to, name) in head.helpers.iter_mut().zip(interface::helpers()) {
        put(to, name.as_bytes());
    }
    head.limit = u64::MAX;
    for limit in limits {
        match limit.device {
            None => head.limit = limit.bytes,
            Some(device) => head.limits.get_mut(device).into_iter().for_each(|to| *to = limit.bytes),
        }
    }
    let rows: Vec<Row> = interface::rules().map(|(name, kind)| row(name, kind)).collect();
    head.rows = rows.len() as u32;
    let mut bytes = vec![0; HEAD + rows.len() * ROW];
    // SAFETY: both are plain memory of these sizes, and began as zeros, with what lies between their fields.
    unsafe {
        std::ptr::copy_nonoverlapping((&raw const head).cast(), bytes.as_mut_ptr(), HEAD);
        std::ptr::copy_nonoverlapping(rows.as_ptr().cast(), bytes.as_mut_ptr().add(HEAD), rows.len() * ROW);
    }
    Ok(bytes)
}

fn row(name: &str, kind: Kind) -> Row {
    let layers = match kind {
        Kind::TellsProperties => contract::RUNTIME,
        Kind::TellsUse | Kind::TellsUse2 | Kind::TellsProcesses1 | Kind::TellsProcesses => contract::LIBRARY,
        _ => contract::DRIVER,
    };
    // SAFETY: all zero is a valid row.
    let zero: Row = unsafe { std::mem::zeroed() };
    let mut row = Row { kind: kind as u32, layers, ..zero };
    put(&mut row.name, name.as_bytes());
    row
}

/// Puts text to the beginning of a place, with a zero behind it.
fn put(to: &mut [u8], text: &[u8]) {
    let room = to.len() - 1;
    to.iter_mut().zip(text.iter().take(room)).for_each(|(to, from)| *to = *from);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_limits_and_rules() {
        let limits = [MemoryLimit { bytes: 5 << 30, device: Some(2) }, MemoryLimit { bytes: 1 << 30, device: None }];
        let bytes = file_bytes(&limits, Path::new("/tmp/accounts")).expect("a file");
        assert_eq!((bytes.len() - HEAD) % ROW, 0);
        // SAFETY: the bytes of a head, from which a copy is made.
        let head: Head = unsafe { bytes.as_ptr().cast::<Head>().read_unaligned() };
        assert_eq!((head.limit, head.limits[2], head.limits[0]), (1 << 30, 5 << 30, 0));
        assert_eq!(head.rows as usize, (bytes.len() - HEAD) / ROW);
        assert!(head.accounts.starts_with(b"/tmp/accounts\0"));
        assert!(file_bytes(&limits[..1], Path::new(&"/x".repeat(600))).is_err());
    }
}
