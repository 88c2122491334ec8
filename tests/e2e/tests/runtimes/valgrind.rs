//! Under valgrind, which reads all memory that a process has when it looks for leaks, and follows each byte that nobody
//! wrote: what is not there behind the end of a file of ours would cost it a SIGBUS a word, and what we do is not to be
//! reported to a person.

use crate::real::{linked, program, sim};
use cutap_e2e::{cutap, finish, scratch};
use std::process::Command;

#[test]
fn valgrind_ends_in_time_and_says_nothing_of_us() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        return println!("skipped: a program under valgrind: valgrind is not installed");
    }
    let Some(program) = program("runtime", linked("12.9"), &[]) else { return };
    let folder = scratch("valgrind");
    let words = ["valgrind", "-q", "--error-exitcode=99"];
    let plain = finish(Command::new(words[0]).args(&words[1..]).arg(&program).env("LD_LIBRARY_PATH", sim()));
    assert!(plain.status.success() && plain.stderr.is_empty(), "{plain:?}");
    for flags in [&["record"] as &[&str], &["trace"], &["trace", "-C"]] {
        let _ = std::fs::remove_file(folder.join("out"));
        let mut command = Command::new(cutap());
        command.args(flags).args(["--sim", "-o"]).arg(folder.join("out")).arg("--").args(words).arg(&program);
        let done = finish(&mut command);
        assert_eq!((&done.stdout, done.status), (&plain.stdout, plain.status), "{flags:?}: {}", done.stderr);
        let others: Vec<&str> = done.stderr.lines().filter(|l| !l.starts_with("cutap: ")).collect();
        assert!(others.is_empty(), "{flags:?}: {}", others.join("\n"));
        // They were made under our eyes.
        let shown = finish(Command::new(cutap()).args(["show", "-C"]).arg(folder.join("out")));
        let text =
            if flags == ["record"] { shown.stdout } else { std::fs::read_to_string(folder.join("out")).unwrap() };
        assert!(text.contains("cudaMalloc"), "{flags:?}: {text}");
    }
}
