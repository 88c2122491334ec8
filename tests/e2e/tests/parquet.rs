//! `cutap export --parquet`: the files of a run are whole or not there, and a finished run stays unchanged. What
//! is in the files is read back by `cutap-tables` and, in `cargo xtask test --large`, by other engines.

use cutap_e2e::{cutap, finish, out, scratch};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn record(file: &Path) {
    let mut record = Command::new(cutap());
    record.arg("record").arg("-o").arg(file).arg("--").arg(out().join("layers")).env("LD_LIBRARY_PATH", out());
    assert!(finish(&mut record).status.success());
}

fn export(tables: &Path, runs: &[&Path]) -> Command {
    let mut export = Command::new(cutap());
    export.arg("export").arg("--parquet").arg(tables).args(runs);
    export
}

/// All files below a folder, by their paths from it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() { folders.push(path) } else { found.push(path.strip_prefix(folder).unwrap().to_owned()) }
        }
    }
    found.sort();
    found
}

fn manifest(tables: &Path, run: &str, rank: u32) -> Value {
    let path = tables.join(format!("_runs/run={run}/rank={rank}/manifest.json"));
    serde_json::from_slice(&fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))).unwrap()
}

fn rows(manifest: &Value, table: &str) -> Option<u64> {
    manifest["files"].as_array()?.iter().find(|file| file["table"] == table)?["rows"].as_u64()
}

#[test]
fn as_many_calls_as_json_lines_have() {
    let folder = scratch("parquet-rows");
    let (file, tables) = (folder.join("run.cutap"), folder.join("tables"));
    record(&file);
    let export_result = finish(&mut export(&tables, &[&file]));
    assert!(export_result.status.success(), "{export_result:?}");
    let lines = finish(Command::new(cutap()).args(["show", "--json"]).arg(&file)).stdout;
    let of_type = |word: &str| {
        let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line["type"] == word).collect::<Vec<_>>()
    };
    let calls = of_type("call");
    let manifest = manifest(&tables, "run", 0);
    assert_eq!(rows(&manifest, "calls"), Some(calls.len() as u64));
    let failed = calls.iter().filter(|call| call["error"] == true).count() as u64;
    assert_eq!(rows(&manifest, "errors"), Some(failed));
    assert_eq!(rows(&manifest, "processes"), Some(of_type("process").len() as u64));
    assert_eq!(rows(&manifest, "gpu"), None, "there is no table of what was not recorded");
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let host = host.trim();
    for of in manifest["files"].as_array().unwrap() {
        let bytes = fs::read(tables.join(of["path"].as_str().unwrap())).unwrap();
        assert_eq!(of["bytes"], bytes.len());
        assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
        // The end of a file has the least text of each column, and that of the host is its name.
        let has_host = bytes.windows(host.len()).any(|window| window == host.as_bytes());
        assert_eq!(has_host, of["rows"] != 0, "{of}");
    }
    let without = finish(export(&folder.join("without"), &[&file]).arg("--no-arguments"));
    assert!(without.status.success(), "{without:?}");
}

#[test]
fn a_run_that_is_there_stays() {
    let folder = scratch("parquet-again");
    let (file, tables) = (folder.join("run.cutap"), folder.join("tables"));
    record(&file);
    assert!(finish(&mut export(&tables, &[&file])).status.success());
    let before: Vec<_> = files(&tables).into_iter().map(|path| fs::read(tables.join(path)).unwrap()).collect();
    let again = finish(&mut export(&tables, &[&file]));
    assert_eq!(again.status.code(), Some(125));
    assert!(again.stderr.contains("has run run, rank 0 already, which stays unchanged"), "{}", again.stderr);
    let after: Vec<_> = files(&tables).into_iter().map(|path| fs::read(tables.join(path)).unwrap()).collect();
    assert_eq!(before, after);
    // Ranks of a job are one run.
    for rank in ["job.0.cutap", "job.1.cutap", "a b%'\u{e4}=.cutap"] {
        fs::copy(&file, folder.join(rank)).unwrap();
    }
    fs::remove_file(&file).unwrap();
    let copies = ["job.0.cutap", "job.1.cutap", "a b%'\u{e4}=.cutap"].map(|name| folder.join(name));
    let export_result = finish(&mut export(&tables, &copies.each_ref().map(PathBuf::as_path)));
    assert!(export_result.status.success(), "{export_result:?}");
    let hostile = manifest(&tables, "a%20b%25%27%C3%A4%3D", 0);
    assert_eq!(hostile["run"], "a b%'\u{e4}=");
    let names: Vec<PathBuf> = files(&tables.join("calls"));
    assert_eq!(names.len(), 4, "{names:?}");
}

#[test]
fn folders_of_others_full_and_read_only() {
    let folder = scratch("parquet-folder");
    let file = folder.join("run.cutap");
    record(&file);
    let other = folder.join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("letter.txt"), "mine").unwrap();
    let refused = finish(&mut export(&other, &[&file]));
    assert_eq!(refused.status.code(), Some(125));
    assert!(refused.stderr.contains("has other files, such as letter.txt"), "{}", refused.stderr);
    assert_eq!(files(&other), [Path::new("letter.txt")]);
    let a_file = finish(&mut export(&file, &[&file]));
    assert_eq!((a_file.status.code(), a_file.stderr.lines().count()), (Some(125), 1), "{}", a_file.stderr);
    // Root may write everywhere, so that /proc stands for a folder that is read-only.
    let read_only = finish(&mut export(Path::new("/proc/tables"), &[&file]));
    assert_eq!((read_only.status.code(), read_only.stderr.lines().count()), (Some(125), 1), "{}", read_only.stderr);
    // No file may have a byte: no table has room.
    let tables = folder.join("full");
    let mut limited = Command::new("bash");
    let export_limited = "(trap '' XFSZ; ulimit -f 0; exec \"$0\" export --parquet \"$1\" \"$2\")";
    // The limit is one of the file with standard error too, which a pipe is not.
    limited.args(["-c", &format!("{export_limited} 2>&1 | cat >&2; exit ${{PIPESTATUS[0]}}")]);
    let full = finish(limited.arg(cutap()).arg(&tables).arg(&file));
    assert_eq!(full.status.code(), Some(125), "{full:?}");
    assert_eq!(full.stderr.lines().count(), 1, "{}", full.stderr);
    assert_eq!(files(&tables), [] as [PathBuf; 0], "nothing is left of what could not be written");
}

#[test]
fn cut_damaged_and_without_calls() {
    let folder = scratch("parquet-cut");
    let file = folder.join("run.cutap");
    record(&file);
    let whole = fs::read(&file).unwrap();
    fs::write(folder.join("cut.cutap"), &whole[..whole.len() / 2]).unwrap();
    let mut bytes = whole.clone();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x55;
    fs::write(folder.join("damaged.cutap"), &bytes).unwrap();
    let tables = folder.join("tables");
    for name in ["cut", "damaged"] {
        let result = finish(&mut export(&tables, &[&folder.join(name).with_extension("cutap")]));
        assert_eq!(result.status.code(), Some(125), "{name}: {}", result.stderr);
        // What could be read is there, and its notes say what is missing.
        let manifest = manifest(&tables, name, 0);
        assert!(rows(&manifest, "calls").is_some() && rows(&manifest, "notes") > Some(0), "{manifest}");
    }
    let whole = folder.join("whole.cutap");
    fs::copy(&file, &whole).unwrap();
    assert!(finish(&mut export(&tables, &[&whole])).status.success());
    let (whole, cut) = (manifest(&tables, "whole", 0), manifest(&tables, "cut", 0));
    assert!(rows(&whole, "notes") < rows(&cut, "notes") && rows(&whole, "calls") > rows(&cut, "calls"), "{cut}");
    let empty = folder.join("empty.cutap");
    finish(Command::new(cutap()).arg("record").arg("-o").arg(&empty).args(["--", "true"]));
    let result = finish(&mut export(&tables, &[&empty]));
    assert!(result.status.success(), "{result:?}");
    assert_eq!(rows(&manifest(&tables, "empty", 0), "calls"), Some(0));
    fs::write(folder.join("none.cutap"), "text").unwrap();
    let none = finish(&mut export(&tables, &[&folder.join("none.cutap")]));
    assert_eq!((none.status.code(), none.stderr.lines().count()), (Some(125), 1), "{}", none.stderr);
}

#[test]
fn two_at_once_and_a_killed_one() {
    let folder = scratch("parquet-two");
    let (file, tables) = (folder.join("run.cutap"), folder.join("tables"));
    record(&file);
    let start = || export(&tables, &[&file]).stderr(Stdio::null()).spawn().unwrap();
    let codes: Vec<Option<i32>> =
        [start(), start(), start()].into_iter().map(|mut child| child.wait().unwrap().code()).collect();
    assert_eq!(codes.iter().filter(|code| **code == Some(0)).count(), 1, "{codes:?}");
    assert_eq!(codes.iter().filter(|code| **code == Some(125)).count(), 2, "{codes:?}");
    assert_eq!(files(&tables.join("calls")).len(), 1);
    // What a killed export leaves: files without a manifest. The next export writes them again.
    let left = tables.join("calls/run=job/rank=0");
    fs::create_dir_all(&left).unwrap();
    fs::create_dir_all(tables.join("_runs/run=job/rank=0")).unwrap();
    fs::write(left.join(".calls.partial"), "PAR1").unwrap();
    fs::write(left.join("calls.parquet"), "PAR1").unwrap();
    let job = folder.join("job.cutap");
    fs::copy(&file, &job).unwrap();
    let result = finish(&mut export(&tables, &[&job]));
    assert!(result.status.success(), "{result:?}");
    assert_eq!(files(&left), [Path::new("calls.parquet")]);
    assert!(fs::read(left.join("calls.parquet")).unwrap().ends_with(b"PAR1"));
    let other = folder.join("other.cutap");
    fs::copy(&file, &other).unwrap();
    let mut child = export(&tables, &[&other]).stderr(Stdio::null()).spawn().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    // Killed before its end or after: there is a manifest with all files, or none.
    let has_manifest = tables.join("_runs/run=other/rank=0/manifest.json").exists();
    let second = finish(&mut export(&tables, &[&other]));
    assert_eq!(second.status.success(), !has_manifest, "{second:?}");
}

/// The names of runs in a folder of tables, with their ranks.
fn run_names(tables: &Path) -> Vec<String> {
    let manifests = files(&tables.join("_runs"));
    manifests.iter().map(|path| path.parent().unwrap().display().to_string()).collect()
}

#[test]
fn numbers_of_files_are_ranks_where_they_ran_together() {
    let folder = scratch("parquet-ranks");
    let names = ["job.0.cutap", "job.1.cutap"].map(|name| folder.join(name));
    // Each of the two programs ends when the other one has begun.
    let wait = "\"$0\"; : > \"$1.begun\"; until [ -e \"$2.begun\" ]; do sleep 0.05; done; sleep 0.2";
    let start = |of: usize| {
        let mut record = Command::new(cutap());
        record.arg("record").arg("-qo").arg(&names[of]).args(["--", "sh", "-c", wait]).arg(out().join("layers"));
        record.args([&names[of], &names[1 - of]]).env("LD_LIBRARY_PATH", out()).stdout(Stdio::null());
        record.spawn().unwrap()
    };
    for mut child in [start(0), start(1)] {
        assert!(child.wait().unwrap().success());
    }
    let paths = names.each_ref().map(PathBuf::as_path);
    let exported = |tables: &str, paths: &[&Path]| {
        let tables = folder.join(tables);
        let result = finish(&mut export(&tables, paths));
        assert!(result.status.success(), "{result:?}");
        run_names(&tables)
    };
    assert_eq!(exported("together", &paths), ["run=job/rank=0", "run=job/rank=1"]);
    // One alone, copies, and recordings that were made one after the other are separate runs.
    assert_eq!(exported("alone", &paths[1..]), ["run=job.1/rank=0"]);
    let copies = ["copy.0.cutap", "copy.1.cutap"].map(|name| folder.join(name));
    for copy in &copies {
        fs::copy(&names[0], copy).unwrap();
    }
    assert_eq!(
        exported("copies", &copies.each_ref().map(PathBuf::as_path)),
        ["run=copy.0/rank=0", "run=copy.1/rank=0"]
    );
    record(&names[1]);
    assert_eq!(exported("later", &paths), ["run=job.0/rank=0", "run=job.1/rank=0"]);
    // What the launcher told comes first.
    let mut ranked = Command::new(cutap());
    ranked.arg("record").arg("-o").arg(&names[1]).arg("--").arg(out().join("layers"));
    let variables = [("OMPI_COMM_WORLD_RANK", "7"), ("SLURM_PROCID", "3")];
    assert!(finish(ranked.env("LD_LIBRARY_PATH", out()).envs(variables)).status.success());
    assert_eq!(exported("told", &paths), ["run=job.0/rank=0", "run=job.1/rank=7"]);
}

#[test]
fn a_recording_that_is_being_written() {
    let folder = scratch("parquet-live");
    let (file, tables, done) = (folder.join("live.cutap"), folder.join("tables"), folder.join("done"));
    let mut record = Command::new(cutap());
    let wait = "\"$0\"; : > \"$1.begun\"; until [ -e \"$1\" ]; do sleep 0.05; done";
    record.arg("record").arg("-qo").arg(&file).args(["--", "sh", "-c", wait]).arg(out().join("layers")).arg(&done);
    let mut child = record.env("LD_LIBRARY_PATH", out()).stdout(Stdio::null()).spawn().unwrap();
    let ready = || done.with_extension("begun").exists() && fs::metadata(&file).is_ok_and(|data| data.len() > 1000);
    while !ready() {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let result = finish(&mut export(&tables, &[&file]));
    fs::write(&done, "").unwrap();
    assert!(child.wait().unwrap().success());
    assert!(result.status.success(), "{result:?}");
    assert!(result.stderr.contains("live.cutap is being written"), "{}", result.stderr);
    let of_live = manifest(&tables, "live", 0);
    let ended = folder.join("ended.cutap");
    fs::rename(&file, &ended).unwrap();
    assert!(finish(&mut export(&tables, &[&ended])).status.success());
    let of_ended = manifest(&tables, "ended", 0);
    assert!(rows(&of_live, "notes") > rows(&of_ended, "notes"), "the notes say it too: {of_live} {of_ended}");
}

#[test]
fn hostile_names() {
    let folder = scratch("parquet-names");
    let file = folder.join("run.cutap");
    record(&file);
    let long = format!("{}.cutap", "\u{e9}".repeat(120));
    let names =
        [".cutap", "__HIVE_DEFAULT_PARTITION__.cutap", "..cutap", "x'; drop table y; --\n\u{1b}[31m.cutap", &long];
    let copies = names.map(|name| folder.join(name));
    for copy in &copies {
        fs::copy(&file, copy).unwrap();
    }
    let tables = folder.join("it's \u{1b}[31m");
    let result = finish(&mut export(&tables, &copies.each_ref().map(PathBuf::as_path)));
    assert!(result.status.success(), "{result:?}");
    assert!(!result.stderr.contains('\u{1b}') && result.stderr.contains("from '"), "{}", result.stderr);
    assert!(result.stderr.contains("it''s \\u{1b}[31m/calls/"), "SQL has quotes twice: {}", result.stderr);
    let mut runs = run_names(&tables);
    let long = runs.iter().position(|name| name.starts_with("run=%C3%A9%C3%A9")).unwrap();
    assert!(runs.remove(long).len() < 255);
    let expected = [
        "run=%5F_HIVE_DEFAULT_PARTITION__/rank=0",
        "run=./rank=0",
        "run=cutap/rank=0",
        "run=x%27%3B%20drop%20table%20y%3B%20--%0A%1B%5B31m/rank=0",
    ];
    assert_eq!(runs, expected);
}
