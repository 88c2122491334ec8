//! `cutap query` up to its engine: what it asks for, with a script in the engine's place. The engine itself, which
//! takes half an hour to build, answers in `cargo xtask test --large`.

use cutap_e2e::{Scratch, cutap, finish, out, scratch};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

/// A folder with cutap alone, which looks for the engine beside itself, and a recording.
fn folder(name: &str) -> Scratch {
    let folder = scratch(name);
    let program = folder.join("cutap");
    fs::hard_link(cutap(), &program).or_else(|_| fs::copy(cutap(), &program).map(drop)).unwrap();
    let mut record = Command::new(cutap());
    record.arg("record").arg("-o").arg(folder.join("run.cutap")).arg("--").arg(out().join("layers"));
    assert!(finish(record.env("LD_LIBRARY_PATH", out())).status.success());
    folder
}

fn query(folder: &Path, words: &[&str]) -> Command {
    let mut query = Command::new(folder.join("cutap"));
    query.current_dir(folder).arg("query").args(words).env("PATH", "/usr/bin:/bin").env("TMPDIR", folder);
    query
}

/// An engine that keeps the request, lists the files of calls, and ends with this status.
fn engine(folder: &Path, code: i32) {
    engine_that(folder, &format!("ls cutap-query-*/calls/*/* >&2\nexit {code}"));
}

/// An engine that keeps the request, and then does this.
fn engine_that(folder: &Path, lines: &str) {
    let path = folder.join("cutap-query");
    fs::write(&path, format!("#!/bin/sh\ncat > request.json\n{lines}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn request(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join("request.json")).unwrap()).unwrap()
}

#[test]
fn the_engine_is_named_where_it_is_missing() {
    let folder = folder("query-missing");
    let done = finish(&mut query(&folder, &["select 1"]));
    assert_eq!((done.status.code(), done.stderr.lines().count()), (Some(125), 1), "{done:?}");
    assert!(done.stderr.contains("cargo install --path crates/query"), "{}", done.stderr);
    let done = finish(&mut query(&folder, &["run.cutap"]));
    assert!(done.stderr.contains("run.cutap is a file, and the last word is the query"), "{}", done.stderr);
}

#[test]
fn tables_views_and_questions_are_listed() {
    let folder = folder("query-list");
    let done = finish(&mut query(&folder, &["--list"]));
    assert!(done.status.success(), "{done:?}");
    assert_eq!(done.stdout.lines().filter(|line| line.starts_with("-- ")).count(), 14, "4 views and 10 questions");
    for line in ["calls: A call.", "  self_ns         integer", "create view gaps as"] {
        assert!(done.stdout.lines().any(|of| of.starts_with(line)), "{line}: {}", done.stdout);
    }
}

#[test]
fn a_recording_becomes_tables_for_one_query() {
    let folder = folder("query-request");
    engine(&folder, 0);
    let done = finish(&mut query(&folder, &["--csv", "select count(*) from calls"]));
    assert!(done.status.success(), "{done:?}");
    assert!(done.stderr.contains("calls.parquet"), "the files are there while the engine runs: {}", done.stderr);
    let asked = request(&folder);
    assert_eq!((&asked["format"], &asked["sql"]), (&"csv".into(), &"select count(*) from calls".into()));
    let tables = asked["tables"].as_array().unwrap();
    let calls = tables.iter().find(|table| table["name"] == "calls").unwrap();
    let file = &calls["files"][0];
    assert_eq!((&file["run"], &file["rank"], file["rows"].as_u64() > Some(3)), (&"run".into(), &0.into(), true));
    assert!(calls["columns"].as_array().unwrap().iter().any(|column| column["name"] == "host"));
    // What was not recorded is a table without files.
    assert_eq!(tables.iter().find(|table| table["name"] == "gpu").unwrap()["files"], Value::Array(Vec::new()));
    assert_eq!(temporary_folders(&folder), 0, "the tables are removed");
}

fn temporary_folders(folder: &Path) -> usize {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("cutap-query-")).count()
}

#[test]
fn a_signal_leaves_no_tables_and_no_engine() {
    let folder = folder("query-signal");
    engine_that(&folder, "echo $$ > pid.new; mv pid.new pid; exec sleep 600");
    for (signal, number) in [("-INT", 2), ("-TERM", 15), ("-HUP", 1)] {
        let mut child = query(&folder, &["select 1"]).spawn().unwrap();
        let pid = loop {
            if let Ok(text) = fs::read_to_string(folder.join("pid")) {
                break text.trim().to_owned();
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        };
        assert_eq!(temporary_folders(&folder), 1);
        // cutap alone gets it, and not the engine.
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        assert_eq!(child.wait().unwrap().signal(), Some(number));
        assert_eq!(temporary_folders(&folder), 0, "{signal}");
        // Its parent is gone; who reaps it may need a moment.
        let is_running = || {
            let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            status.contains("sleep") && !status.contains("State:\tZ")
        };
        for _ in 0..100 {
            if is_running() {
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
        }
        assert!(!is_running(), "{signal}: the engine still runs");
        fs::remove_file(folder.join("pid")).unwrap();
    }
}

#[test]
fn a_folder_says_what_its_recording_lacked() {
    let folder = folder("query-cut");
    let whole = fs::read(folder.join("run.cutap")).unwrap();
    fs::write(folder.join("cut.cutap"), &whole[..whole.len() / 2]).unwrap();
    let mut export = Command::new(cutap());
    let done = finish(export.current_dir(&*folder).args(["export", "--parquet", "tables", "run.cutap", "cut.cutap"]));
    assert_eq!(done.status.code(), Some(125), "{done:?}");
    engine(&folder, 0);
    let done = finish(&mut query(&folder, &["tables", "select 1"]));
    let said: Vec<&str> = done.stderr.lines().filter(|line| line.starts_with("cutap:")).collect();
    assert_eq!(said.len(), 1, "{}", done.stderr);
    assert!(said[0].contains("when run cut, rank 0, was exported, cut.cutap is cut off"), "{}", said[0]);
}

#[test]
fn a_folder_of_tables_is_read_by_its_manifests() {
    let folder = folder("query-folder");
    let mut export = Command::new(cutap());
    let done = finish(export.current_dir(&*folder).args(["export", "--parquet", "tables"]));
    assert!(done.status.success(), "{done:?}");
    // A file that no manifest has: a killed export leaves such ones.
    let other = folder.join("tables/calls/run=other/rank=0");
    fs::create_dir_all(&other).unwrap();
    fs::write(other.join("calls.parquet"), "PAR1").unwrap();
    engine(&folder, 7);
    let done = finish(&mut query(&folder, &["tables", "select 1"]));
    assert_eq!(done.status.code(), Some(7), "{done:?}");
    let asked = request(&folder);
    let files = asked["tables"][0]["files"].as_array().unwrap();
    let expected = folder.join("tables/calls/run=run/rank=0/calls.parquet");
    assert_eq!(files.len(), 1);
    assert_eq!(files[0]["path"].as_str().map(Path::new), Some(&*expected));
    let manifest = folder.join("tables/_runs/run=run/rank=0/manifest.json");
    let text = fs::read_to_string(&manifest).unwrap().replace("\"schema\": 1", "\"schema\": 999");
    fs::write(&manifest, text).unwrap();
    let done = finish(&mut query(&folder, &["tables", "select 1"]));
    assert!(done.stderr.contains("tables of version 999"), "{}", done.stderr);
    fs::remove_file(&manifest).unwrap();
    let done = finish(&mut query(&folder, &["tables", "select 1"]));
    assert!(done.stderr.contains("tables has no run that is whole"), "{}", done.stderr);
}

#[test]
fn no_room_for_the_tables_of_a_query() {
    let folder = folder("query-room");
    engine(&folder, 0);
    let done = finish(query(&folder, &["select 1"]).env("TMPDIR", "/proc"));
    assert_eq!((done.status.code(), done.stderr.lines().count()), (Some(125), 1), "{}", done.stderr);
    assert!(done.stderr.contains("set TMPDIR to one that you may write"), "{}", done.stderr);
    let whole = fs::read(folder.join("run.cutap")).unwrap();
    fs::write(folder.join("cut.cutap"), &whole[..whole.len() / 2]).unwrap();
    let done = finish(&mut query(&folder, &["cut.cutap", "select 1"]));
    assert!(done.status.success(), "what could be read is asked: {done:?}");
    assert!(done.stderr.contains("cut.cutap is cut off"), "{}", done.stderr);
    fs::write(folder.join("none.cutap"), "text").unwrap();
    let done = finish(&mut query(&folder, &["none.cutap", "select 1"]));
    assert_eq!((done.status.code(), done.stderr.lines().count()), (Some(125), 1), "{}", done.stderr);
    assert_eq!(temporary_folders(&folder), 0);
}
