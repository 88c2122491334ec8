//! `cutap inspect`: the words of the command line; what it finds is tested in `cutap-inspect`.

mod support;

use support::{cutap, err, out};

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
