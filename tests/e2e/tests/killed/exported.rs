//! A file that cutap is writing is left unchanged by `cutap export`, and so is a recording; another one is emptied.

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
        if words == "record" {
            let refused = export(format, &run.file());
            assert!(refused.stderr.contains("is a recording, and the export would replace it"), "{refused:?}");
            assert_eq!(shown(&run.file()), run.real());
        }
        fs::write(run.file(), "old ".repeat(1 << 18)).unwrap();
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

/// The recording itself by another name, and the files of a run, which a program may have mapped.
#[test]
fn what_is_read_or_in_use_is_not_written_over() {
    let folder = scratch("in-use");
    let (run, from, link) = (folder.join("run"), folder.join("run.cutap"), folder.join("link.json"));
    let script =
        r#"eval "$("$0" env -o "$1")"; "$2"; unset LD_PRELOAD CUTAP_RUN; "$0" recover "$1" -o "$3"; ln "$3" "$4""#;
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).arg(cutap()).arg(&run).arg(out().join("layers")).args([&from, &link]);
    assert!(finish(shell.env("LD_LIBRARY_PATH", out())).status.success());
    let process = fs::read_dir(&run).unwrap().flatten().find(|f| f.file_name().to_string_lossy().starts_with('p'));
    let process = process.expect("a process").path();
    let whole = fs::read(&from).unwrap();
    for file in [link, process.join("t0.ring"), process.join("names"), run.join("control")] {
        let before = fs::read(&file).unwrap();
        let export = finish(Command::new(cutap()).args(["export", "--json"]).args([&file, &from]));
        assert_eq!((export.status.code(), export.stderr.lines().count()), (Some(125), 1), "{file:?}: {export:?}");
        if !file.ends_with("link.json") {
            let record = finish(Command::new(cutap()).args(["record", "-o"]).arg(&file).arg("true"));
            assert!(record.stderr.contains("it is a file of a run directory"), "{file:?}: {record:?}");
        }
        assert!(fs::read(&file).unwrap() == before && fs::read(&from).unwrap() == whole, "{file:?}");
    }
}

/// Somebody puts something else in the place of the control page while a program is recorded.
#[test]
fn a_control_page_that_is_replaced_spoils_no_recording() {
    let folder = scratch("replaced");
    let (run, file) = (folder.join("run"), folder.join("run.cutap"));
    let script = r#""$1"; echo x > "$0/control.new"; mv "$0/control.new" "$0/control""#;
    let mut record = Command::new(cutap());
    record.args(["record", "--run-dir"]).arg(&run).arg("-o").arg(&file).args(["--", "sh", "-c", script]).arg(&run);
    let done = finish(record.arg(out().join("layers")).env("LD_LIBRARY_PATH", out()));
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    let show = finish(Command::new(cutap()).args(["show", "-C"]).arg(&file));
    assert_eq!(show.status.code(), Some(0), "{show:?}");
    assert!(show.stdout.contains("cublasCreate_v2"), "{show:?}");
}
