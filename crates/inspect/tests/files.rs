//! Small programs and libraries, built by gcc here and now, and what `inspect` says of each. Those with
//! a CUDA runtime inside need NVIDIA's wheel, fetched once; without the network they say that they
//! were skipped.

use cutap_inspect::{Error, Kind, Report, inspect, static_toolkits};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A separate folder for each test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Compiles `source` to `folder/output`.
fn gcc(folder: &Path, output: &str, source: &str, arguments: &[&str]) -> PathBuf {
    let output = folder.join(output);
    let file = output.with_extension("src.c");
    std::fs::write(&file, source).unwrap();
    let status = Command::new("gcc").current_dir(folder).arg(&file).arg("-o").arg(&output).args(arguments).status();
    assert!(status.expect("gcc is needed").success(), "gcc {arguments:?}");
    output
}

fn look(path: &Path) -> Report {
    let report = inspect(path).unwrap();
    println!("{report}");
    report
}

/// A stand-in for the driver library, to link against.
fn driver(folder: &Path) {
    let source = "int cuInit(unsigned f) { return f; } int cuDeviceGetCount(int *n) { return *n; }";
    gcc(folder, "libcuda.so.1", source, &["-shared", "-fPIC", "-Wl,-soname,libcuda.so.1"]);
}

const CALLS: &str = "int cuInit(unsigned); int cuDeviceGetCount(int *);\n\
    int main(void) { int n; return cuInit(0) + cuDeviceGetCount(&n); }";

fn words(report: &Report, name: &str) -> Vec<(&'static str, u32)> {
    let function = report.functions.iter().find(|f| f.name == name).expect(name);
    function.words.iter().map(|(kind, n)| (*kind, *n)).collect()
}

fn routes(report: &Report) -> Vec<&'static str> {
    report.routes.iter().map(|r| r.route).collect()
}

#[test]
fn direct_links() {
    let at = folder("direct");
    driver(&at);
    let lazy = look(&gcc(&at, "lazy", CALLS, &["-Wl,-z,lazy", "libcuda.so.1"]));
    assert_eq!(lazy.kind, Kind::Program);
    assert_eq!(lazy.links[0].library, "libcuda.so.1");
    assert_eq!(lazy.links[0].layer, "driver");
    assert_eq!(words(&lazy, "cuInit"), [("plt", 1)]);
    assert_eq!(lazy.functions[0].library.as_deref(), Some("libcuda.so.1"));
    assert_eq!(routes(&lazy), ["bindings"]);
    assert!(lazy.not_seen.is_empty());

    let no_plt = look(&gcc(&at, "no-plt", CALLS, &["-fno-plt", "libcuda.so.1"]));
    assert_eq!(words(&no_plt, "cuDeviceGetCount"), [("got", 1)]);

    let data = format!("{CALLS}\nint (*table[2])(unsigned) = {{cuInit, cuInit}};");
    let data = look(&gcc(&at, "data", &data, &["libcuda.so.1"]));
    assert!(words(&data, "cuInit").contains(&("data", 2)));

    let taken = "int cuInit(unsigned); int main(void) { int (*volatile f)(unsigned) = cuInit; return f(0); }";
    let taken = look(&gcc(&at, "taken", taken, &["-no-pie", "-fno-pie", "libcuda.so.1"]));
    assert!(taken.functions[0].address_taken && taken.notes.iter().any(|n| n.contains("non-PIE")));

    let weak = "extern int cuInit(unsigned) __attribute__((weak)); int curl_easy_init(void);\n\
        int plugin(void) { return cuInit ? cuInit(0) : curl_easy_init(); }";
    let weak = look(&gcc(&at, "libplugin.so", weak, &["-shared", "-fPIC"]));
    assert_eq!(weak.kind, Kind::Library);
    assert!(weak.functions.len() == 1 && weak.functions[0].weak, "curl's function is not CUDA's");
}

#[test]
fn runtimes_inside() {
    let at = folder("runtimes");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for version in ["12.9", "13.0", "13.5"] {
        let wheels =
            Command::new("python3").arg(root.join("tests/programs/wheels.py")).args(["cudart", version]).output();
        let wheels = wheels.expect("python3 is needed");
        if wheels.status.code() == Some(3) {
            println!("SKIPPED: static runtime {version}: its wheel is not in the cache, and there is no network");
            continue;
        }
        assert!(wheels.status.success(), "{}", String::from_utf8_lossy(&wheels.stderr));
        let lib = Path::new(String::from_utf8_lossy(&wheels.stdout).trim()).join("lib");

        let source = "int cudaMalloc(void **, unsigned long); int main(void) { void *p; return cudaMalloc(&p, 8); }";
        let archive = lib.join("libcudart_static.a");
        let arguments = ["-s", archive.to_str().unwrap(), "-lpthread", "-ldl", "-lrt"];
        let program = look(&gcc(&at, &format!("static-{version}"), source, &arguments));
        assert_eq!(program.runtimes, [version]);
        assert_eq!(program.opens, ["libcuda.so.1"]);
        assert_eq!(routes(&program), ["callback table", "cuGetProcAddress", "dlsym"]);
        assert!(program.not_seen.iter().any(|n| n.contains("__cudaRegister")));
        assert!(program.to_string().contains(&format!("CUDA runtime {version}, statically linked")));

        let major = version.split('.').next().unwrap();
        let shared = lib.join(format!("libcudart.so.{major}"));
        let report = look(&shared);
        assert_eq!(report.runtimes, [version]);
        assert!(report.not_seen.is_empty(), "the shared runtime's __cuda functions are bindings");

        let program = look(&gcc(&at, &format!("shared-{version}"), source, &[shared.to_str().unwrap()]));
        assert_eq!(program.links[0].layer, "runtime");
        assert_eq!(routes(&program), ["bindings", "callback table", "cuGetProcAddress"]);
        assert!(program.runtimes.is_empty());
    }
}

#[test]
fn toolkit_libraries_inside() {
    let at = folder("toolkits");
    let source = r#"#include <stdio.h>
        int main(int c, char **v) {
            const char *words[] = {"void cublasXerbla(const char*, int)", "CUSPARSE_LOG_LEVEL", "xCUDSS_LOG_MASK",
                                   "_Z11mirrorBatchP8NppiSize"};
            return puts(words[c]);
        }"#;
    let program = gcc(&at, "toolkits", source, &[]);
    let report = look(&program);
    assert_eq!(report.static_toolkits, ["cuBLAS", "NPP"], "of cuSPARSE only one of two words is there");
    assert!(report.not_seen[0].contains("cuBLAS, NPP"));
    assert_eq!(static_toolkits(&program), report.static_toolkits);
    assert_eq!(static_toolkits(Path::new("/nonexistent")), [""; 0]);

    let own = gcc(&at, "libcublas.so.12", source, &["-shared", "-fPIC", "-Wl,-soname,libcublas.so.12"]);
    assert_eq!(look(&own).static_toolkits, ["NPP"], "a library has its own words by right");
}

#[test]
fn libraries_opened_by_name() {
    let at = folder("opened");
    let source = r#"#include <dlfcn.h>
        void *open_it(void) { return dlopen("/opt/cuda/libcublas.so.12", 1); }
        const char *message = "cannot open libcuda.so.1"; const char *other = "libcurl.so.4";"#;
    let report = look(&gcc(&at, "libopener.so", source, &["-shared", "-fPIC"]));
    assert_eq!(report.opens, ["libcublas.so.12"]);
    assert_eq!(routes(&report), ["dlsym"]);
}

#[test]
fn rare_shapes() {
    let at = folder("shapes");
    driver(&at);
    let hash = look(&gcc(&at, "hash", CALLS, &["-Wl,--hash-style=sysv", "libcuda.so.1"]));
    assert!(hash.notes.iter().any(|n| n.contains("DT_HASH alone")));

    let ifunc = "static int one(void) { return 1; } static int (*choose(void))(void) { return one; }\n\
        int cudaChosen(void) __attribute__((ifunc(\"choose\")));";
    let ifunc = gcc(&at, "libcudart.so.99", ifunc, &["-shared", "-fPIC", "-Wl,-soname,libcudart.so.99"]);
    assert!(look(&ifunc).notes.iter().any(|n| n.starts_with("IFUNC cudaChosen")));

    let textrel = "int cuInit(unsigned);\n__asm__(\".text\\n.globl word\\nword: .quad cuInit\");";
    let textrel = look(&gcc(&at, "libtextrel.so", textrel, &["-shared", "-fPIC", "-Wl,-z,notext"]));
    assert!(textrel.not_seen.iter().any(|n| n.contains("TEXTREL")));

    let still = gcc(&at, "still", "int main(void) { return 0; }", &["-static"]);
    let still = look(&still);
    assert_eq!(still.kind, Kind::Static);
    assert!(still.not_seen[0].contains("no dynamic loader"));
    let pie = look(&gcc(&at, "still-pie", "int main(void) { return 0; }", &["-static-pie"]));
    assert_eq!(pie.kind, Kind::Static);

    let plain = gcc(&at, "plain", "int main(void) { return 0; }", &[]);
    assert!(look(&plain).notes.iter().any(|n| n.contains("does not reach CUDA itself")));
    let mut permissions = std::fs::metadata(&plain).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o4755);
    std::fs::set_permissions(&plain, permissions).unwrap();
    let report = look(&plain);
    assert_eq!(report.rights, ["setuid"]);
    assert!(report.not_seen.iter().any(|n| n.starts_with("all of it, for any user but its owner: it is setuid")));

    let mut bytes = std::fs::read(&plain).unwrap();
    bytes[18] = 183;
    std::fs::write(at.join("foreign"), &bytes).unwrap();
    let foreign = look(&at.join("foreign"));
    assert!(foreign.machine == "aarch64" && foreign.not_seen[0].contains("it is for aarch64"));
    assert!(foreign.routes.is_empty());
}

#[test]
fn marks_by_which_a_program_gains_rights() {
    let at = folder("rights");
    driver(&at);
    let program = gcc(&at, "marked", CALLS, &["libcuda.so.1"]);
    let mode = |mode| {
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(&program, permissions).unwrap();
        look(&program)
    };
    assert_eq!(mode(0o755).rights, [""; 0]);
    let group = mode(0o2755);
    assert!(group.rights == ["setgid"] && group.not_seen.len() == 1 && group.not_seen[0].contains("it is setgid"));
    assert_eq!(mode(0o2745).rights, [""; 0], "no execution by the group: not setgid");
    assert_eq!(mode(0o6755).not_seen.len(), 2);
    mode(0o755);
    match Command::new("setcap").arg("cap_net_raw+ep").arg(&program).output() {
        Ok(done) if done.status.success() => {}
        _ => return println!("SKIPPED: file capabilities (no setcap here, or not root)"),
    }
    let report = look(&program);
    assert_eq!(report.rights, ["capabilities"]);
    assert!(report.not_seen[0].contains("any user but root") && report.not_seen[0].contains("LD_PRELOAD"));
    assert_eq!(routes(&report), ["bindings"], "root sees it all the same");
    let library =
        gcc(&at, "libmarked.so", "int cuInit(unsigned); int f(void) { return cuInit(0); }", &["-shared", "-fPIC"]);
    Command::new("setcap").arg("cap_net_raw+ep").arg(&library).status().unwrap();
    assert!(look(&library).not_seen.is_empty(), "a library's mark gives nobody anything");
}

#[test]
fn files_that_are_no_programs() {
    let at = folder("others");
    let said = |name: &str, bytes: &[u8]| {
        std::fs::write(at.join(name), bytes).unwrap();
        inspect(&at.join(name)).unwrap_err().to_string()
    };
    assert!(said("a.py", b"#!/usr/bin/env python3\nx\n").ends_with("try `cutap inspect python3`"));
    assert!(said("a.txt", b"hello").contains("no ELF program"));
    assert!(said("empty", b"").contains("no ELF program"));
    assert!(said("a.a", b"!<arch>\n...").contains("archive"));
    let whole = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    for length in [4, 20, 63, 64, 100, 4096, whole.len() / 2] {
        std::fs::write(at.join("cut"), &whole[..length]).unwrap();
        let outcome = inspect(&at.join("cut"));
        let cut = matches!(outcome, Err(Error::Damaged { .. } | Error::Read { .. }));
        assert!(cut, "cut off at {length}: {outcome:?}");
    }
    assert!(inspect(Path::new("/nonexistent")).unwrap_err().to_string().contains("no such file or folder; give"));
    assert!(inspect(&at).unwrap_err().to_string().contains("it is a folder; give"));
}

#[test]
fn json_has_every_field() {
    let report = look(&std::env::current_exe().unwrap());
    let json: serde_json::Value = serde_json::from_str(&report.json()).unwrap();
    let fields = ["path", "kind", "machine", "links", "functions", "opens", "runtimes", "routes", "not_seen", "notes"];
    for field in fields {
        assert!(!json[field].is_null(), "{field}");
    }
    assert_eq!(json["kind"], "program");
}

/// The kernel and the loader do not look at sections: a program may say anything of them and run.
#[test]
fn sections_that_lie() {
    let at = folder("lying");
    driver(&at);
    let program = gcc(&at, "program", CALLS, &["libcuda.so.1"]);
    let good = std::fs::read(&program).unwrap();
    let word = |at: usize| u64::from_le_bytes(good[at..at + 8].try_into().unwrap()) as usize;
    let (table, sections) = (word(0x28), usize::from(good[0x3c]));
    for size in [0xffff_ffff_ffffu64, 0xffff_ffff_ffff_fff8, 0x7fff_ffff] {
        for section in 1..sections {
            let mut bytes = good.clone();
            let field = table + 64 * section + 0x20;
            bytes[field..field + 8].copy_from_slice(&size.to_le_bytes());
            let lying = at.join("lying");
            std::fs::write(&lying, &bytes).unwrap();
            // Either it can be looked at, or there is a reason: no end, and no memory that the file does not have.
            match inspect(&lying) {
                Ok(report) => assert!(report.links.len() <= 2, "section {section}: {report}"),
                Err(why) => assert!(matches!(why, Error::Damaged { .. }), "section {section}: {why}"),
            }
            assert_eq!(static_toolkits(&lying), Vec::<String>::new(), "section {section}");
        }
    }
}

/// What a recording names may be a pipe by now without a writer.
#[test]
fn a_pipe_is_not_waited_for() {
    let pipe = folder("pipe").join("pipe");
    let _ = std::fs::remove_file(&pipe);
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert_eq!(static_toolkits(&pipe), Vec::<String>::new());
    let why = inspect(&pipe).unwrap_err().to_string();
    assert!(why.contains("it is a pipe or a device"), "{why}");
}

#[test]
fn a_program_for_musl_is_left_alone() {
    let at = folder("musl");
    driver(&at);
    let musl = ["libcuda.so.1", "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1"];
    let report = look(&gcc(&at, "musl", CALLS, &musl));
    assert_eq!((report.kind, report.routes.len()), (Kind::Program, 0));
    assert!(report.not_seen[0].starts_with("all of it: it is built for musl"), "{:?}", report.not_seen);
    // A folder of that name is no loader.
    let glibc = ["libcuda.so.1", "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1/ld-linux-x86-64.so.2"];
    assert_eq!(routes(&look(&gcc(&at, "glibc", CALLS, &glibc))), ["bindings"]);
}
