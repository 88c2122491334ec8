//! What the head of an ELF file says about whether LD_PRELOAD can work with it. Reads only the
//! headers and the dynamic section, whatever the size of the file; never trusts an offset.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// `e_machine` of the only processor that the preload is built for.
pub const X86_64: u16 = 62;
/// `e_machine` of 64-bit ARM.
pub const AARCH64: u16 = 183;

const PT_LOAD: u64 = 1;
const PT_DYNAMIC: u64 = 2;
const PT_INTERP: u64 = 3;
const DT_NEEDED: u64 = 1;
const DT_STRTAB: u64 = 5;
const DT_SONAME: u64 = 14;
const DT_RPATH: u64 = 15;
const DT_RUNPATH: u64 = 29;
/// More than any real file has: what claims more is damaged.
const MOST: usize = 1 << 16;

/// The facts that decide.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Facts {
    /// `e_machine`.
    pub machine: u16,
    /// 64 bits; nothing below is read of a file for another machine.
    pub wide: bool,
    /// Path of the dynamic loader; `None` in a static program.
    pub interpreter: Option<String>,
    /// SONAME, if it has one (the dynamic loader may be started as a program).
    pub soname: Option<String>,
    /// Libraries that it names.
    pub needed: Vec<String>,
    /// Folders in which it has its libraries looked for, RPATH and RUNPATH, as they are written.
    pub folders: Vec<String>,
}

/// Reads the facts; `None` when the file is no ELF file, or is cut off.
pub fn facts(file: &File) -> Option<Facts> {
    let head = bytes(file, 0, 20)?;
    if head.get(..4)? != b"\x7fELF" {
        return None;
    }
    // Byte 4: 2 = 64 bits. Byte 5: 1 = little endian, 2 = big.
    let machine = [head[18], head[19]];
    let machine = if head[5] == 2 { u16::from_be_bytes(machine) } else { u16::from_le_bytes(machine) };
    let mut facts = Facts { machine, wide: head[4] == 2, ..Facts::default() };
    if !facts.wide || facts.machine != X86_64 {
        return Some(facts);
    }
    let header = bytes(file, 0, 64)?;
    let (offset, size, count) = (number(&header, 32, 8)?, number(&header, 54, 2)?, number(&header, 56, 2)?);
    if size < 56 {
        return None;
    }
    let table = bytes(file, offset, (size * count) as usize)?;
    let segments: Vec<Segment> = table.chunks_exact(size as usize).filter_map(Segment::read).collect();
    for segment in &segments {
        match segment.kind {
            PT_INTERP => facts.interpreter = Some(text(&bytes(file, segment.offset, segment.size as usize)?, 0)?),
            PT_DYNAMIC => dynamic(file, &segments, segment, &mut facts)?,
            _ => {}
        }
    }
    Some(facts)
}

fn dynamic(file: &File, segments: &[Segment], segment: &Segment, facts: &mut Facts) -> Option<()> {
    let table = bytes(file, segment.offset, segment.size as usize)?;
    let entries: Vec<(u64, u64)> = table
        .chunks_exact(16)
        .filter_map(|e| Some((number(e, 0, 8)?, number(e, 8, 8)?)))
        .take_while(|e| e.0 != 0)
        .collect();
    let Some(strings) = entries.iter().find(|e| e.0 == DT_STRTAB) else { return Some(()) };
    let load = segments.iter().find(|s| s.kind == PT_LOAD && (s.address..s.address + s.size).contains(&strings.1))?;
    let base = strings.1 - load.address + load.offset;
    for (tag, at) in entries {
        if [DT_NEEDED, DT_SONAME, DT_RPATH, DT_RUNPATH].contains(&tag) {
            let name = text(&some_bytes(file, base.checked_add(at)?, 4096)?, 0)?;
            match tag {
                DT_NEEDED => facts.needed.push(name),
                DT_RPATH | DT_RUNPATH => facts.folders.extend(name.split(':').map(str::to_owned)),
                _ => facts.soname = Some(name),
            }
        }
    }
    Some(())
}

struct Segment {
    kind: u64,
    offset: u64,
    address: u64,
    size: u64,
}

impl Segment {
    fn read(entry: &[u8]) -> Option<Segment> {
        let (offset, address, size) = (number(entry, 8, 8)?, number(entry, 16, 8)?, number(entry, 32, 8)?);
        address.checked_add(size)?;
        Some(Segment { kind: number(entry, 0, 4)?, offset, address, size })
    }
}

fn number(bytes: &[u8], at: usize, len: usize) -> Option<u64> {
    let mut word = [0u8; 8];
    word[..len].copy_from_slice(bytes.get(at..at + len)?);
    Some(u64::from_le_bytes(word))
}

fn text(bytes: &[u8], at: usize) -> Option<String> {
    let rest = bytes.get(at..)?;
    let end = rest.iter().position(|&b| b == 0)?;
    Some(String::from_utf8_lossy(&rest[..end]).into_owned())
}

fn bytes(file: &File, at: u64, len: usize) -> Option<Vec<u8>> {
    some_bytes(file, at, len).filter(|b| b.len() == len)
}

fn some_bytes(file: &File, at: u64, len: usize) -> Option<Vec<u8>> {
    if len > MOST {
        return None;
    }
    let mut all = vec![0u8; len];
    let mut done = 0;
    while done < len {
        match file.read_at(&mut all[done..], at.checked_add(done as u64)?) {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
    all.truncate(done);
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_is_dynamic() {
        let facts = facts(&File::open("/proc/self/exe").unwrap()).unwrap();
        assert_eq!((facts.machine, facts.wide), (X86_64, true));
        assert!(facts.interpreter.unwrap().contains("ld-linux"));
        assert!(facts.needed.iter().any(|n| n == "libc.so.6"), "{:?}", facts.needed);
    }

    #[test]
    fn a_file_cut_off_anywhere_is_no_panic() {
        let whole = std::fs::read("/proc/self/exe").unwrap();
        let path = std::env::temp_dir().join(format!("cutap-elf-{}", std::process::id()));
        for len in (0..800).chain([4096, 65536]) {
            std::fs::write(&path, &whole[..len]).unwrap();
            let cut = facts(&File::open(&path).unwrap());
            assert!(len >= 20 || cut.is_none());
        }
        std::fs::remove_file(path).unwrap();
    }
}
