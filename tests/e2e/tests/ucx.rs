//! libucm of UCX patches the entries of the driver's functions that it looks up. It must find entries that it can
//! patch, and see each allocation, with cutap as without. Only with CUTAP_LARGE: the wheel has 43 MB.

use cutap_e2e::{cutap, finish, scratch, sources};
use std::path::PathBuf;
use std::process::Command;

/// UCX's libraries; none if the wheel cannot be had.
fn libraries() -> Option<PathBuf> {
    let found = finish(Command::new("python3").arg(sources().join("wheels.py")).args(["ucx", "1.22"]));
    assert!(matches!(found.status.code(), Some(0 | 3)), "wheels.py: {}", found.stderr);
    found.status.success().then(|| PathBuf::from(found.stdout.trim()).join("lib"))
}

#[test]
fn libucm_installs_its_cuda_hooks() {
    if std::env::var_os("CUTAP_LARGE").is_none() {
        return println!("skipped libucm: needs CUTAP_LARGE=1");
    }
    let Some(libraries) = libraries() else {
        return println!("skipped libucm: its wheel is not in the cache and PyPI cannot be reached");
    };
    let folder = scratch("ucx");
    let (client, driver, trace) = (folder.join("client"), folder.join("libcuda.so.1"), folder.join("trace"));
    let source = |name: &str| sources().join("ucx").join(name);
    let shared = ["-O1", "-shared", "-fPIC", "-fcf-protection=none", "-Wl,-soname,libcuda.so.1", "-o"];
    let build = |gcc: &mut Command| {
        let built = finish(gcc);
        assert!(built.status.success(), "{}", built.stderr);
    };
    build(Command::new("gcc").arg("-o").arg(&client).arg(source("client.c")).arg("-ldl"));
    build(Command::new("gcc").args(shared).arg(&driver).arg(source("driver.c")));
    let path = format!("{}:{}", folder.display(), libraries.display());
    // A jump of five bytes, and one of twelve.
    for far in ["n", "y"] {
        let run = |command: &mut Command| {
            let done = finish(
                command
                    .arg(&client)
                    .arg(&libraries)
                    .env("LD_LIBRARY_PATH", &path)
                    .env("UCX_MEM_BISTRO_FORCE_FAR_JUMP", far),
            );
            assert!(done.status.success(), "{done:?}");
            done.stdout
        };
        let plain = run(&mut Command::new("env"));
        assert_eq!(plain, "hooks 0, events 10\n");
        assert_eq!(run(Command::new(cutap()).args(["trace", "-o"]).arg(&trace).arg("--")), plain, "far jump: {far}");
        let text = std::fs::read_to_string(&trace).unwrap();
        for function in ["cuMemAlloc_v2(", "cuMemFree_v2("] {
            assert_eq!(text.lines().filter(|line| line.starts_with(function)).count(), 5, "{text}");
        }
        assert!(text.contains("cutap:   cuMemAlloc_v2"), "{text}");
    }
}
