//! A file that cutap is writing is left as it is by `cutap export`; one that nobody writes to is emptied.

use super::run::Run;
use cutap_e2e::{calls_in, cutap, finish, normal_form, out, scratch, shown};
use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn export_refuses_what_it_would_spoil() {
    let folder = scratch("export");
    let from = folder.join("run.cutap");
    let mut record = Command::new(cutap());
    record.args(["record", "-o"]).arg(&from).arg(out().join("layers")).env("LD_LIBRARY_PATH", out());
    assert!(finish(&mut record).status.success());
    let export = |format: &str, to: &Path| finish(Command::new(cutap()).args(["export", format]).arg(to).arg(&from));
    for (words, format) in [("record", "--json"), ("trace", "--perfetto"), ("record", "--chrome")] {
        let mut run = Run::start(&[words]);
        run.collector(20_000);
        let refused = export(format, &run.file());
        assert_eq!((refused.status.code(), refused.stderr.lines().count()), (Some(125), 1), "{refused:?}");
        assert!(refused.stderr.contains("cannot write the export to "), "{refused:?}");
        assert!(refused.stderr.contains("another cutap is writing to it; give another file"), "{refused:?}");
        run.ends();
        assert_eq!(run.said(), "");
        match words {
            "record" => assert_eq!(shown(&run.file()), run.real()),
            _ => assert_eq!(calls_in(&normal_form(&fs::read_to_string(run.file()).unwrap())), run.real()),
        }
        let new = folder.join("new");
        assert!(export(format, &new).status.success() && export(format, &run.file()).status.success());
        assert!(
            fs::read(&new).unwrap() == fs::read(run.file()).unwrap(),
            "{format}: something is left of what was there"
        );
    }
    let mut shell = Command::new("sh");
    shell.args(["-c", r#""$0" export --json /dev/stdout "$1" | cat; "$0" export --json /dev/null "$1""#]);
    let done = finish(shell.arg(cutap()).arg(&from));
    assert!(done.stdout.ends_with("}\n") && done.stderr.is_empty(), "{done:?}");
}
