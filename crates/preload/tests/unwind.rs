//! The reader of unwind tables against gimli, at every row of every function of NVIDIA's runtimes 11.7 to 13.5, of
//! programs into which they are linked, and of this test itself.

use cutap_preload::loader::unwind::{Layout, Why, layout};
use gimli::{BaseAddresses, CfaRule, EhFrame, NativeEndian, Register, RegisterRule, UnwindContext, UnwindSection};
use object::{Object, ObjectSection, ObjectSegment};
use std::path::{Path, PathBuf};
use std::process::Command;

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
    Some(Layout { by_frame_pointer: by_rbp, cfa: *offset as u32, saved })
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

#[test]
fn as_gimli_reads_them_in_this_test() {
    let (rows, usable) = compare(&std::env::current_exe().expect("a test knows its own path")).expect("it has tables");
    assert!(rows > 1000 && usable * 10 > rows * 9, "{usable} of {rows}");
}

/// Versions of the runtime of which a wheel is fetched, and those that are linked into a program too.
const SHARED: [&str; 7] = ["11.7", "11.8", "12.0", "12.4", "12.9", "13.0", "13.5"];
const LINKED: [&str; 3] = ["12.9", "13.0", "13.5"];

/// The folder of a wheel's libraries; none, and said, if it can neither be found nor fetched.
fn wheel(version: &str) -> Option<PathBuf> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/wheels.py");
    let found = Command::new("python3").arg(script).args(["cudart", version]).output().expect("python3 runs");
    if found.status.code() == Some(3) {
        println!("skipped: unwind tables of runtime {version}: its wheel is not here and cannot be fetched");
        return None;
    }
    assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stderr));
    Some(Path::new(String::from_utf8_lossy(&found.stdout).trim()).join("lib"))
}

/// A small program with the runtime of this folder linked in.
fn linked(lib: &Path, version: &str) -> PathBuf {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("unwind-static-{version}"));
    let source = program.with_extension("c");
    let code = "int cudaGetDevice(int *); int main(void) { int n; return cudaGetDevice(&n); }";
    std::fs::write(&source, code).expect("cargo's folder for tests is writable");
    let mut gcc = Command::new("gcc");
    gcc.arg("-o").arg(&program).arg(source).arg(lib.join("libcudart_static.a")).args(["-lpthread", "-ldl", "-lrt"]);
    let done = gcc.output().expect("gcc runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    program
}

#[test]
fn as_gimli_reads_them_in_every_runtime() {
    let mut all = Vec::new();
    for version in SHARED {
        let Some(lib) = wheel(version) else { continue };
        let before = all.len();
        let files = std::fs::read_dir(&lib).expect("a wheel has a folder lib").map(|e| e.expect("readable").path());
        let is_runtime = |p: &PathBuf| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with("libcudart.so."));
        all.extend(files.filter(is_runtime));
        assert_eq!(all.len(), before + 1, "{}", lib.display());
        if LINKED.contains(&version) {
            all.push(linked(&lib, version));
        }
    }
    for path in &all {
        let (rows, usable) = compare(path).unwrap_or_else(|| panic!("{} has no tables", path.display()));
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
