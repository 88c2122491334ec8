//! A real libcuda.so.1 from Debian, and small programs made by gcc.

mod libcuda;

use cutap_kernel::scan::{Binary, env, sites};
use cutap_kernel::variables::is_hashed;
use libcuda::libcuda;
use std::process::Command;

/// objdump of the same file finds 112 calls of ioctl, 111 of getenv, 27 of mmap64 and 16 of mmap.
#[test]
fn libcuda_call_sites() {
    let Some(path) = libcuda() else { return };
    let binary = Binary::read(&path).unwrap();
    let found = sites::find(&binary, 4);
    let count = |name: &str| found.iter().filter(|site| site.function == name).count();
    assert_eq!((count("ioctl"), count("getenv"), count("mmap64"), count("mmap")), (112, 111, 27, 16));
    let text = sites::text("libcuda.so.1", &found);
    assert!(text.contains(" NV_ESC_"), "no request has a name");
    assert!(found.iter().filter(|s| s.nearest.is_some()).count() > found.len() / 2);
    assert!(found.iter().all(|s| s.lines.iter().any(|(address, _)| *address == s.address)));
}

#[test]
fn libcuda_variables() {
    let Some(path) = libcuda() else { return };
    let all = env::variables(&Binary::read(&path).unwrap());
    let hashed: Vec<&str> = all.iter().filter(|v| is_hashed(&v.name)).map(|v| v.name.as_str()).collect();
    assert_eq!(hashed.len(), 24, "{hashed:?}");
    let of = |name: &str| all.iter().find(|v| v.name == name);
    assert!(of("CUDA_CACHE_PATH").is_some() && of("CUDA_03b69110").is_some() && of("CUDA_ERROR_UNKNOWN").is_none());
    assert!(all.iter().filter(|v| !v.sites.is_empty()).count() > 20);
}

#[test]
fn a_small_program() {
    let folder = std::env::temp_dir().join(format!("cutap-sites-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let source = folder.join("a.c");
    let code = "#include <stdlib.h>\n#include <sys/ioctl.h>\n\
        int ask(int fd, void *p) { return ioctl(fd, 0xc0104629u, p) + (getenv(\"CUDA_03b69110\") != 0); }\n";
    std::fs::write(&source, code).unwrap();
    for words in
        [&["-shared", "-fPIC"][..], &["-shared", "-fPIC", "-fno-plt"], &["-shared", "-fPIC", "-fcf-protection=full"]]
    {
        let library = folder.join("a.so");
        let built = Command::new("gcc").args(["-O1", "-o"]).arg(&library).arg(&source).args(words).status().unwrap();
        assert!(built.success());
        let binary = Binary::read(&library).unwrap();
        let found = sites::find(&binary, 2);
        let shown: Vec<_> = found.iter().map(|s| (s.function, s.argument.as_deref().unwrap_or(""))).collect();
        assert_eq!(shown, [("ioctl", "0xc0104629 NV_ESC_RM_FREE"), ("getenv", "CUDA_03b69110")], "{words:?}");
        assert!(found[0].nearest.as_deref().unwrap().starts_with("ask+0x"), "{found:?}");
        let all = env::variables(&binary);
        assert_eq!((all.len(), all[0].name.as_str(), all[0].sites.len()), (1, "CUDA_03b69110", 1));
    }
    // Damage: every prefix, and single bytes that differ, are an error or an answer.
    let bytes = std::fs::read(folder.join("a.so")).unwrap();
    for end in (0..bytes.len()).step_by(61) {
        let _ = Binary::parse(&bytes[..end]).map(|b| sites::find(&b, 3).len());
    }
    for at in 0..1024 {
        let mut bytes = bytes.clone();
        bytes[at] ^= 0xff;
        let _ = Binary::parse(&bytes).map(|b| (sites::find(&b, 3).len(), env::variables(&b).len()));
    }
    assert!(Binary::parse(b"#!/bin/sh\n").unwrap_err().contains("is no ELF file"));
    std::fs::remove_dir_all(&folder).unwrap();
}
