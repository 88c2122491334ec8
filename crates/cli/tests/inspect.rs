//! `cutap inspect`: the words of the command line; what it finds is tested in `cutap-inspect`.

mod support;

use support::{Folder, cutap, err, out};

#[test]
fn text_json_and_wrong_input() {
    let me = std::env::current_exe().unwrap();
    let me = me.to_str().unwrap();
    let text = cutap(&["inspect", me, "/bin/sh"]).output().unwrap();
    assert!(text.status.success(), "{}", err(&text));
    assert!(out(&text).starts_with(&format!("{me}: program for x86-64\n")), "{}", out(&text));
    assert!(out(&text).contains("/bin/sh: program for x86-64\n"), "{}", out(&text));

    let some = cutap(&["inspect", "/no/a", me, "/no/b", "/bin/sh"]).output().unwrap();
    assert_eq!(some.status.code(), Some(125));
    assert!(out(&some).contains(me) && out(&some).contains("/bin/sh: program"), "{}", out(&some));
    let said: Vec<String> = err(&some).lines().map(|l| l.chars().take(25).collect()).collect();
    assert_eq!(said, ["cutap: cannot read /no/a:", "cutap: cannot read /no/b:"]);

    let json = cutap(&["inspect", "--json", me]).output().unwrap();
    assert!(out(&json).starts_with(r#"{"path":"#) && out(&json).ends_with("}\n"), "{}", out(&json));

    let script = cutap(&["inspect", "/nonexistent"]).output().unwrap();
    assert_eq!(script.status.code(), Some(125));
    assert_eq!(
        err(&script),
        "cutap: cannot read /nonexistent: no such file or folder; give a program or library that is there and may be read\n"
    );
}

/// A file says what it is called: its SONAME and its name can hold what a terminal obeys, and what turns text around.
#[test]
fn names_that_a_terminal_would_obey() {
    let folder = Folder::new("inspect-names");
    let (code, soname) = (folder.join("l.c"), "lib\u{1b}[31mred\u{202e}os.so");
    std::fs::write(&code, "int f(void) { return 1; }\n").unwrap();
    let library = folder.join("l\u{1b}]0;title\u{7}\u{2066}.so");
    let mut cc = std::process::Command::new("cc");
    let built =
        cc.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&code).arg(format!("-Wl,-soname,{soname}")).output();
    if !built.is_ok_and(|b| b.status.success()) {
        return eprintln!("skipped: a shared library (cc does not work here)");
    }
    let path = library.to_str().unwrap();
    let text = cutap(&["inspect", path]).output().unwrap();
    let shown = "l\\u{1b}]0;title\\u{7}\\u{2066}.so: shared library for x86-64, lib\\u{1b}[31mred\\u{202e}os.so\n";
    assert!(out(&text).contains(shown), "{:?}", out(&text));
    assert!(!out(&text).contains(['\u{1b}', '\u{7}', '\u{202e}', '\u{2066}']), "{:?}", out(&text));
    let json = cutap(&["inspect", "--json", path]).output().unwrap();
    let json: serde_json::Value = serde_json::from_str(&out(&json)).unwrap();
    assert_eq!((json["soname"].as_str(), json["path"].as_str()), (Some(soname), Some(path)));
    let missing = cutap(&["inspect", "/no\u{1b}[2J\u{202e}"]).output().unwrap();
    assert!(err(&missing).contains("cannot read /no\\u{1b}[2J\\u{202e}: "), "{:?}", err(&missing));
}

/// A program by its name alone is looked for on PATH, as trace does; a file of that name here comes first.
#[test]
fn programs_on_the_path() {
    let folder = Folder::new("inspect-path");
    let found = cutap(&["inspect", "false"]).current_dir(&folder.0).output().unwrap();
    assert!(found.status.success() && out(&found).contains("/false: program for x86-64"), "{found:?}");
    std::fs::write(folder.join("false"), "no program").unwrap();
    let here = cutap(&["inspect", "false"]).current_dir(&folder.0).output().unwrap();
    assert!(!here.status.success() && err(&here).contains("false "), "{here:?}");
    let none = cutap(&["inspect", "no-such-program-here"]).output().unwrap();
    assert!(err(&none).contains("cannot read no-such-program-here: no such file"), "{none:?}");
}
