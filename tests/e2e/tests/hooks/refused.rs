//! Hook libraries that cannot be used, and those that end the program: one clear sentence each.

use crate::building::{fixed, header, hook, hook_as, rust_hook, text, under, with_runtime};
use crate::real;
use cutap_e2e::{cutap, finish, scratch};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

fn sentence(library: &Path) -> String {
    let run = under(&["run"], &[library], &["/bin/echo", "ran"], &[]);
    assert_eq!((run.status.code(), run.stdout.as_str()), (Some(125), ""), "{run:?}");
    let line = run.stderr.strip_prefix("cutap: cannot use the hook library ").unwrap_or_else(|| panic!("{run:?}"));
    assert_eq!(line.lines().count(), 1, "{line}");
    line.trim_end().strip_prefix(&format!("{}: ", library.display())).expect("the path comes first").to_owned()
}

#[test]
fn libraries_that_cannot_be_used() {
    let folder = scratch("refused");
    let good = hook("nothing");
    let put = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        fs::write(&path, bytes).expect("writable");
        path
    };
    let bytes = fs::read(&good).expect("readable");
    let with = |at: usize, byte: u8| {
        let mut other = bytes.clone();
        other[at] = byte;
        other
    };
    assert_eq!(sentence(&folder.join("absent.so")), "there is no such file; check the path");
    assert_eq!(sentence(&folder), "it is a folder; name the library in it");
    let build = "build it for x86-64 with gcc -shared -fPIC";
    assert_eq!(sentence(&put("text.so", b"hello")), format!("it is no shared library; {build}"));
    assert_eq!(sentence(&put("empty.so", b"")), format!("it is no shared library; {build}"));
    assert_eq!(sentence(&put("arm.so", &with(18, 183))), format!("it is built for aarch64; {build}"));
    assert_eq!(sentence(&put("small.so", &with(4, 1))), format!("it is a 32-bit library; {build}"));
    // Sections alone load nothing, and a program is of a library's type.
    assert_eq!(
        sentence(&put("sections.so", &with(56, 0))),
        "the file is damaged (it has nothing to load); build it again"
    );
    let program = fixed("fixed");
    assert_eq!(sentence(&program), format!("it is a program, not a shared library; {build}"));
    assert_eq!(sentence(&put("a b.so", &bytes)), SPLIT);
    assert_eq!(sentence(&put("a:b.so", &bytes)), SPLIT);
    for len in [16, 40, 64, 200, 1000] {
        let said = sentence(&put("cut.so", &bytes[..len]));
        assert!(
            said.starts_with("it is no shared library") || said.starts_with("the file is damaged"),
            "{len}: {said}"
        );
    }
    let header = "write it with cutap_hook.h (cutap hook-header prints it) or the Rust crate cutap-hook";
    let plain = hook("plain");
    assert_eq!(sentence(&plain), format!("it has no entry point cutap_hook_init; {header}"));
    let newer = hook("newer");
    let said = sentence(&newer);
    assert!(
        said.starts_with("it was written for version 7 of the hook contract, and this cutap has version 2;"),
        "{said}"
    );
    let twice = under(&["run"], &[&good, &good], &["/bin/echo"], &[]);
    assert!(twice.stderr.ends_with("it is given twice; leave one out\n"), "{twice:?}");
}

/// The loader loads a file once, by whatever names it is given.
#[test]
fn a_library_given_twice_by_other_names() {
    let folder = scratch("refused");
    let (good, link, hard) = (hook("nothing"), folder.join("link.so"), folder.join("hard.so"));
    std::os::unix::fs::symlink(&good, &link).expect("a link");
    let (place, name) = (good.parent().expect("a folder"), good.file_name().expect("a file"));
    let around = place.join("..").join(place.file_name().expect("a folder")).join(name);
    let copy = folder.join("copy.so");
    fs::copy(&good, &copy).expect("a copy");
    fs::hard_link(&copy, &hard).expect("a link");
    for (first, second) in [(&good, &around), (&good, &link), (&link, &good), (&copy, &hard)] {
        for words in [&["run"][..], &["record", "-o", "/dev/null"], &["trace"]] {
            let run = under(words, &[first, second], &["/bin/echo", "ran"], &[]);
            assert_eq!((run.status.code(), run.stdout.as_str()), (Some(125), ""), "{run:?}");
            let said = format!(
                "cutap: cannot use the hook library {}: it is given twice (also as {}); leave one out\n",
                second.display(),
                first.display()
            );
            assert_eq!(run.stderr, said);
        }
    }
    // A copy is another library.
    let run = under(&["run"], &[&good, &copy], &[text(&fixed("fixed")), "5"], &[]);
    assert_eq!((run.status.code(), run.stdout.as_str(), run.stderr.as_str()), (Some(0), "5 bytes: 0\n", ""));
}

const SPLIT: &str =
    "LD_PRELOAD cannot carry a path with a space, a colon or a $; copy it to a folder with a plain path";

/// It was good when it was looked at, and is another one for a child that starts later.
#[test]
fn a_library_that_says_no_is_listed() {
    let folder = scratch("refused");
    let says_no = hook("says_no");
    let trace = folder.join("trace");
    let words = ["trace", "-o", text(&trace)];
    let run = under(&words, &[&says_no], &[text(&fixed("fixed")), "5"], &[]);
    assert_eq!(run.stdout, "5 bytes: 0\n", "{run:?}");
    let said = fs::read_to_string(&trace).expect("cutap writes the trace");
    assert!(said.contains("1 hook library that took no part in a process\ncutap:   says_no.so"), "{said}");
    // In Rust by an error.
    let refuses = rust_hook("arguments");
    let run = under(&words, &[&refuses], &[text(&fixed("fixed")), "5"], &[("HOOK_NO", "1")]);
    assert_eq!(run.stdout, "5 bytes: 0\n", "{run:?}");
    let said = fs::read_to_string(&trace).expect("cutap writes the trace");
    assert!(said.contains("1 hook library that took no part in a process\ncutap:   libarguments.so"), "{said}");
}

/// Nobody waits for a program that `cutap env` let in: whoever shows its folder says in which hook it died.
#[test]
fn a_hook_that_crashes_under_env_is_named_by_show() {
    let (crashes, program, folder) = (hook("crashes"), fixed("fixed"), scratch("dies"));
    let run = folder.join("run");
    let script = r#"eval "$("$0" env --hook "$1" -o "$2")"; exec "$3" 5"#;
    let mut shell = Command::new("sh");
    shell.args(["-c", script, text(cutap()), text(&crashes), text(&run), text(&program)]);
    let died = finish(shell.env("HOOK_WHERE", "before").env("LD_LIBRARY_PATH", cutap_e2e::out()));
    assert_eq!(died.status.signal(), Some(11), "{died:?}");
    let shown = finish(Command::new(cutap()).arg("show").arg(&run));
    let said = "crashes.so was in before(cuMemAlloc_v2) when process ";
    assert!(shown.status.success() && shown.stderr.contains(said), "{shown:?}");
}

#[test]
fn a_hook_that_ends_the_program_is_named() {
    let (crashes, program) = (hook("crashes"), fixed("fixed"));
    for (place, named) in [
        ("init", "cutap_hook_init"),
        ("constructor", "a constructor of its own"),
        ("destructor", "a destructor of its own"),
        ("late", "a destructor of its own"),
        ("met", "met(cuMemAlloc_v2)"),
        ("before", "before(cuMemAlloc_v2)"),
        ("after", "after(cuMemAlloc_v2)"),
    ] {
        for words in [&["run"][..], &["trace", "-o", "/dev/null"]] {
            let run = under(words, &[&crashes], &[text(&program), "5"], &[("HOOK_WHERE", place)]);
            assert_eq!(run.status.signal(), Some(11), "{run:?}");
            let said = format!("cutap: crashes.so was in {named} when the program died of SIGSEGV");
            assert!(run.stderr.lines().any(|l| l == said), "{place}: {run:?}");
        }
    }
    // Below a runtime's report, and around a runtime's function that the program is bound to.
    for (runtime, place) in [
        (real::linked("12.9"), "met"),
        (real::linked("12.9"), "before"),
        (real::linked("12.9"), "after"),
        (real::shared("12.9"), "before"),
    ] {
        let Some(program) = with_runtime("memory", runtime, &[]) else { continue };
        let set = [("HOOK_WHERE", place), ("HOOK_NAME", "cudaMalloc")];
        let run = under(&["run", "--sim"], &[&crashes], &[text(&program)], &set);
        assert_eq!(run.status.signal(), Some(11), "{run:?}");
        let said = format!("cutap: crashes.so was in {place}(cudaMalloc) when the program died of SIGSEGV");
        assert!(run.stderr.lines().any(|l| l == said), "{place}: {run:?}");
    }
    // What all threads say is said once.
    let threads = cutap_e2e::out().join("threads_at_once");
    let here = [("HOOK_WHERE", "together"), ("LD_LIBRARY_PATH", text(cutap_e2e::out()))];
    let run = under(&["run"], &[&crashes], &[text(&threads)], &here);
    let said = "cutap: crashes.so was in before(cuMemAlloc_v2) in 64 threads when the program died of SIGSEGV\n";
    assert_eq!(run.stderr.matches(said).count(), 1, "{run:?}");
    assert_eq!(run.stderr.matches("crashes.so").count(), 1, "{run:?}");
    // A shell in between: its child died.
    let script = format!("{} 5; exit 4", program.display());
    let run = under(&["run"], &[&crashes], &["sh", "-c", &script], &[("HOOK_WHERE", "before")]);
    assert_eq!(run.status.code(), Some(4), "{run:?}");
    assert!(run.stderr.contains("crashes.so was in before(cuMemAlloc_v2) when process "), "{run:?}");
    let run = under(&["run"], &[&crashes], &[text(&program), "5"], &[("HOOK_WHERE", "exit")]);
    assert_eq!(run.status.code(), Some(9), "{run:?}");
    assert!(
        run.stderr.contains("crashes.so was in cutap_hook_init when the program ended with exit code 9"),
        "{run:?}"
    );
    let run = under(&["run"], &[&crashes], &[text(&program), "5"], &[("HOOK_WHERE", "ends")]);
    assert_eq!(run.status.code(), Some(9), "{run:?}");
    assert!(
        run.stderr.contains("crashes.so was in before(cuMemAlloc_v2) when the program ended with exit code 9"),
        "{run:?}"
    );
    // That nothing was called says nothing then.
    let run = under(&["run"], &[&crashes], &[text(&program), "5"], &[("HOOK_WHERE", "aborts")]);
    let said = "cutap: crashes.so was in a constructor of its own when the program died of SIGABRT\n";
    assert_eq!((run.status.signal(), run.stderr.as_str()), (Some(6), said), "{run:?}");
    // The second of two: its own name, and not that of the first, whose constructors have run or have yet to.
    for (place, named) in [("leaves", "constructor"), ("exits", "constructor"), ("left", "destructor")] {
        let run = under(&["run"], &[&hook("first"), &crashes], &[text(&program), "5"], &[("HOOK_WHERE", place)]);
        assert_eq!(run.status.code(), Some(9), "{run:?}");
        let said = format!("crashes.so was in a {named} of its own when the program ended with exit code 9");
        assert!(run.stderr.contains(&said) && !run.stderr.contains("first.so was in"), "{run:?}");
    }
}

/// The loader alone knows what is missing, and says it; whose it is, and that nothing was traced, is said behind it.
#[test]
fn a_library_that_the_loader_cannot_load_is_named() {
    let folder = scratch("needs");
    let (source, gone) = (folder.join("gone.c"), folder.join("libgone.so"));
    fs::write(&source, "int gone(void) { return 1; }\nint not_there;\n").expect("writable");
    let gcc = |words: &[&str]| {
        let done = finish(Command::new("gcc").args(["-shared", "-fPIC", "-o"]).args(words));
        assert!(done.status.success(), "{done:?}");
    };
    gcc(&[text(&gone), text(&source)]);
    let needs = hook_as("nothing", "needs", &["-Wl,--no-as-needed", text(&gone)]);
    fs::remove_file(&gone).expect("it was made");
    let hook_source = folder.join("lacks.c");
    let lacking = "#include \"cutap_hook.h\"\nextern int not_there; int *at = &not_there;\nCUTAP_HOOK { return 0; }\n";
    fs::write(&hook_source, lacking).expect("writable");
    let lacks = folder.join("lacks.so");
    gcc(&[text(&lacks), text(&hook_source), "-I", text(&header())]);
    let program = fixed("fixed");
    for (library, missing) in [(&needs, "libgone.so"), (&lacks, "not_there")] {
        let name = library.file_name().expect("a file").to_string_lossy().into_owned();
        for words in [&["run"][..], &["trace", "-e", "cuMemAlloc"], &["record", "-o", text(&folder.join("x.cutap"))]] {
            let run = under(words, &[library], &[text(&program), "5"], &[]);
            assert_eq!((run.status.code(), run.stdout.as_str()), (Some(125), ""), "{run:?}");
            let said = format!(
                "cutap: cannot start fixed-fixed with the hook library {name}: the loader said above what is missing; \
                 ldd -r {} lists all of it",
                library.display()
            );
            let lines: Vec<&str> = run.stderr.lines().collect();
            assert!(lines[0].contains(missing) && lines[1] == said, "{words:?} {run:?}");
            assert!(!run.stderr.contains("nothing matched") && !run.stderr.contains("was not called"), "{run:?}");
        }
    }
    // A separate program that ends so is none of it.
    let run = under(&["run"], &[&hook("nothing")], &["sh", "-c", "exit 127"], &[]);
    assert_eq!(run.status.code(), Some(127), "{run:?}");
    assert!(!run.stderr.contains("cannot start"), "{run:?}");
}

/// A process is of one run.
#[test]
fn hooks_of_a_cutap_around_are_missed_aloud() {
    let (first, nothing, program) = (hook("first"), hook("nothing"), fixed("fixed"));
    let within = |inner: &[&str]| {
        let words = [&["sh", "-c", "\"$0\" \"$@\"", text(cutap())][..], inner, &["--", text(&program), "5"]].concat();
        let run = under(&["run"], &[&first], &words, &[]);
        assert_eq!(run.status.code(), Some(0), "{run:?}");
        (run.stdout, run.stderr)
    };
    let said = "cutap: the hook library first.so of the cutap around this one will not be called in this program; give --hook here too\n";
    for inner in [&["trace", "-o", "/dev/null"][..], &["run", "--hook", text(&nothing)]] {
        let (out, err) = within(inner);
        assert_eq!(out, "5 bytes: 0\n");
        assert_eq!(err.matches(said).count(), 1, "{err}");
    }
    let (out, err) = within(&["run", "--hook", text(&first)]);
    assert!(out.starts_with("first before 5\n") && !err.contains("around this one"), "{out}{err}");
}
