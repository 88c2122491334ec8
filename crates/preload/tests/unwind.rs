//! The reader of unwind tables against gimli, at every row of every function of NVIDIA's runtimes that are in the cache, of
//! programs into which they are linked, and of this test itself.

use cutap_preload::loader::unwind::{Layout, Why, layout};
use gimli::{BaseAddresses, CfaRule, EhFrame, NativeEndian, Register, RegisterRule, UnwindContext, UnwindSection};
use object::{Object, ObjectSection, ObjectSegment};
use std::path::{Path, PathBuf};

const KEPT: [u16; 6] = [3, 6, 12, 13, 14, 15];
const RETURN: Register = Register(16);

/// What gimli's row says, if it is one of those that can be used.
fn expected(row: &gimli::UnwindTableRow<usize>) -> Option<Layout> {
    let CfaRule::RegisterAndOffset { register, offset } = row.cfa() else { return None };
    let by_rbp = match register.0 {
        6 => true,
        7 => false,
        _ => return None,
    };
    if row.register(RETURN) != Some(RegisterRule::Offset(-8)) || *offset < 8 || offset % 8 != 0 || *offset >= 0x3_0000 {
        return None;
    }
    let mut saved = [0u8; 6];
    for (to, register) in saved.iter_mut().zip(KEPT) {
        *to = match row.register(Register(register)) {
            None | Some(RegisterRule::Undefined | RegisterRule::SameValue) => 0,
            Some(RegisterRule::Offset(at)) if at % 8 == 0 => u8::try_from(-at / 8).ok()?,
            Some(_) => return None,
        };
    }
    Some(Layout { by_rbp, cfa: *offset as u32, saved })
}

/// Rows compared, and those of them that can be used.
fn compare(path: &Path) -> Option<(usize, usize)> {
    let bytes = std::fs::read(path).ok()?;
    let file = object::File::parse(&*bytes).ok()?;
    // As it would lie in memory.
    let end = file.segments().map(|s| s.address() + s.size()).max()? as usize;
    let mut image = vec![0u8; end];
    for segment in file.segments() {
        let data = segment.data().ok()?;
        let at = segment.address() as usize;
        image[at..at + data.len()].copy_from_slice(data);
    }
    let base = image.as_ptr() as usize;
    let header = file.section_by_name(".eh_frame_hdr")?.address() as usize;
    let section = file.section_by_name(".eh_frame")?;
    let data = section.data().ok()?;
    let frames = EhFrame::new(data, NativeEndian);
    let text = file.section_by_name(".text").map_or(0, |s| s.address());
    let bases = BaseAddresses::default().set_eh_frame(section.address()).set_text(text);
    let (mut rows, mut usable) = (0, 0);
    let mut context = UnwindContext::new();
    let mut entries = frames.entries(&bases);
    while let Some(entry) = entries.next().ok()? {
        let gimli::CieOrFde::Fde(partial) = entry else { continue };
        let fde = partial.parse(EhFrame::cie_from_offset).ok()?;
        let mut table = fde.rows(&frames, &bases, &mut context).ok()?;
        while let Ok(Some(row)) = table.next_row() {
            if row.start_address() >= row.end_address() {
                continue;
            }
            let want = expected(row);
            for at in [row.start_address() + 1, row.end_address()] {
                // SAFETY: the image is whole, and stays.
                let got = unsafe { layout(base + header, (base, base + end), base + at as usize) };
                assert_eq!(got.ok(), want, "{} at {at:#x}", path.display());
            }
            if let Some(want) = want {
                assert_eq!(Layout::unpack(want.pack()), want);
                usable += 1;
            }
            rows += 1;
        }
    }
    Some((rows, usable))
}

fn files(folder: &Path, wanted: &dyn Fn(&str) -> bool, to: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|t| t.is_dir()) {
            files(&path, wanted, to);
        } else if path.file_name().is_some_and(|n| wanted(&n.to_string_lossy())) {
            to.push(path);
        }
    }
}

#[test]
fn as_gimli_reads_them_in_this_test() {
    let (rows, usable) = compare(&std::env::current_exe().expect("a test knows its own path")).expect("it has tables");
    assert!(rows > 1000 && usable * 10 > rows * 9, "{usable} of {rows}");
}

#[test]
fn as_gimli_reads_them_in_every_runtime() {
    let cache = std::env::var_os("CUTAP_CACHE")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cache"), PathBuf::from);
    let mut all = Vec::new();
    files(&cache.join("wheels"), &|name| name.starts_with("libcudart.so."), &mut all);
    // Programs with a runtime linked in, where the tests of runtimes have built them.
    let exe = std::env::current_exe().expect("a test knows its own path");
    let built = exe.ancestors().nth(3).expect("tests run from cargo's target folder").join("e2e");
    files(&built, &|name| name.contains("-static-") && !name.starts_with('.'), &mut all);
    if all.is_empty() {
        return println!("skipped: no runtime is in {}", cache.display());
    }
    all.sort();
    for path in &all {
        // Linked without the index, in a test of its own.
        let Some((rows, usable)) = compare(path) else { continue };
        println!("{}: {usable} of {rows} rows", path.display());
        assert!(rows > 500 && usable * 100 > rows * 98, "{}: {usable} of {rows}", path.display());
    }
}

#[test]
fn damaged_tables_are_refused_and_read_no_further() {
    let path = std::env::current_exe().expect("a test knows its own path");
    let bytes = std::fs::read(path).expect("readable");
    let file = object::File::parse(&*bytes).expect("an ELF file");
    let header = file.section_by_name(".eh_frame_hdr").expect("it has tables");
    let data = header.data().expect("it is in the file").to_vec();
    let base = data.as_ptr() as usize;
    let at = |len: usize, pc: usize| {
        // SAFETY: the bytes are there, and nothing behind them is to be read.
        unsafe { layout(base, (base, base + len), pc) }
    };
    for len in 0..data.len().min(4096) {
        assert!(at(len, base + 5000).is_err());
    }
    assert_eq!(at(0, base), Err(Why::NoTables));
    let mut seed = 1u64;
    let mut noise = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as u8
    };
    for _ in 0..20_000 {
        let mut bytes: [u8; 256] = core::array::from_fn(|_| noise());
        bytes[..4].copy_from_slice(&[1, 0x1b, 3, 0x3b]);
        bytes[8..12].copy_from_slice(&[2, 0, 0, 0]);
        let base = bytes.as_ptr() as usize;
        // SAFETY: as above.
        let _ = unsafe { layout(base, (base, base + 256), base + usize::from(noise())) };
    }
}
