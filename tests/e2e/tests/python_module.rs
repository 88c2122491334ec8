//! The module `cutap` of Python: tables, reports, findings, and what a block of a program records. With CUTAP_LARGE the
//! tables are read by pyarrow, Polars, pandas and DuckDB too.

use cutap_e2e::{Finished, cutap, finish, scratch, sources};
use std::path::{Path, PathBuf};
use std::process::Command;

fn module() -> PathBuf {
    sources().join("../../xtask/wheel").canonicalize().expect("the folder of the wheel")
}

fn with_module(command: &mut Command) -> Finished {
    finish(command.env("PYTHONPATH", module()).env("CUTAP_PROGRAM", cutap()))
}

fn record(folder: &Path, flags: &[&str], script: &str) -> Finished {
    let mut command = Command::new(cutap());
    command.args(["record", "--sim", "-q", "--force"]).args(flags).arg("-o").arg(folder.join("run.cutap"));
    let ran = with_module(command.args(["--", "python3"]).arg(sources().join("python").join(script)));
    assert!(ran.status.success(), "{}", ran.everything());
    ran
}

fn python(folder: &Path, script: &str) -> String {
    let ran = with_module(Command::new("python3").args(["-c", script]).current_dir(folder));
    assert!(ran.status.success(), "{}", ran.everything());
    ran.stdout
}

#[test]
fn tables_are_those_of_the_recording() {
    let folder = scratch("module");
    record(&folder, &[], "lines.py");
    let script = r#"
import cutap, json, subprocess
run = cutap.open("run.cutap")
lines = subprocess.run([cutap.program(), "show", "--json", "run.cutap"], stdout=subprocess.PIPE, check=True).stdout
calls = [call for call in map(json.loads, lines.splitlines()) if call["type"] == "call"]
table = run.calls()
assert len(table) == len(calls) > 400
key = lambda call: (call["tid"], call["start_ns"])
for row, call in zip(sorted(table, key=key), sorted(calls, key=key)):
    assert (row["function"], row["duration_ns"]) == (call["name"], call["duration_ns"])
    names = lambda of: [argument["name"] for argument in of or []]
    assert names(row["arguments"]) == names(call.get("arguments")), (row, call)
(free,) = run.calls(filter="cuMemFree_v2")
assert free["failed"] is True and free["result_name"] == "CUDA_ERROR_INVALID_VALUE"
assert sum(run.functions()["calls"]) == len(calls)
assert "nanoseconds" in table.meaning("start_ns") and len(run.processes()) == 1 and len(run.threads()) == 9
assert [line["path"] for line in run.report("--errors")] == [["cuCtxSynchronize"], ["cuMemFree_v2"]]
assert any(finding.type == "time" for finding in run.explain())
assert len(run.collectives()) == 0 and "function" in run.table("errors").column_names
assert "<html" in open(run.view("page.html").path).read()
try:
    run.table("tensors")
except cutap.Error as error:
    print(error)
try:
    with cutap.recording():
        pass
except cutap.Error as error:
    print(error)
try:
    cutap.open("none.cutap")
except FileNotFoundError as error:
    print(error)
"#;
    let words = python(&folder, script);
    let wanted = "cutap: there is no table tensors; there are calls, gpu, functions, kernels, allocations, errors, \
                  collectives, ranges, processes, threads, notes\n\
                  this process does not run under cutap, so no call can be recorded; start it with cutap record python \
                  SCRIPT\n\
                  none.cutap is not there; cutap record writes recordings\n";
    assert_eq!(words, wanted);
}

#[test]
fn a_block_is_recorded() {
    let folder = scratch("module");
    let ran = record(&folder, &["--delay", "1000000"], "block.py");
    assert_eq!(ran.stdout, "recorded: True\n");
    let functions = python(&folder, "import cutap; f = cutap.open().functions(); print(f['function'], f['calls'])");
    assert_eq!(functions, "['cuCtxSynchronize'] [7]\n");
}

#[test]
fn a_kernel_of_jupyter() {
    let folder = scratch("module");
    let install = ["-m", "cutap", "jupyter", "install", "--prefix", ".", "--output", "."];
    let ran = with_module(Command::new("python3").args(install).current_dir(&*folder));
    assert!(ran.status.success(), "{}", ran.everything());
    let spec = std::fs::read_to_string(folder.join("share/jupyter/kernels/cutap/kernel.json")).unwrap();
    let spec: serde_json::Value = serde_json::from_str(&spec).unwrap();
    let words: Vec<&str> = spec["argv"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    assert_eq!((words[1], words[words.len() - 1]), ("record", "{connection_file}"));
    // It starts, up to the module that a machine without Jupyter lacks.
    let to = words.iter().position(|word| *word == "ipykernel_launcher").unwrap();
    let more = ["json.tool", "--help"];
    let mut command = Command::new(words[0]);
    let ran = with_module(command.args(&words[1..to]).args(more).current_dir(&*folder));
    assert!(ran.status.success() && ran.stdout.contains("usage"), "{}", ran.everything());
    let ran = with_module(Command::new("python3").args(["-m", "cutap", "jupyter", "install", "--nothing"]));
    assert!(ran.status.code() == Some(2) && ran.stderr.contains("does not know --nothing"), "{}", ran.everything());
}

/// The plugin of pytest, loaded by name: nothing is installed here.
#[test]
fn rules_of_a_marked_test() {
    let folder = scratch("module");
    let pytest = Command::new("python3").arg(sources().join("wheels.py")).args(["pytest", "9.2"]).output().unwrap();
    if !pytest.status.success() {
        return println!("skipped: the plugin of pytest (PyPI cannot be reached)");
    }
    let packages = PathBuf::from(String::from_utf8_lossy(&pytest.stdout).trim()).join("packages");
    let path = std::env::join_paths([module(), packages]).unwrap();
    std::fs::copy(sources().join("python/marked.py"), folder.join("test_marked.py")).unwrap();
    let mut command = Command::new(cutap());
    command.args(["run", "-q", "--sim", "--", "python3", "-m", "pytest", "-q", "-rA", "-p", "cutap.pytest_plugin"]);
    command.args(["--cutap-output", "kept", "--junitxml=all.xml"]).current_dir(&*folder);
    let ran = finish(command.env("PYTHONPATH", path).env("CUTAP_PROGRAM", cutap()));
    assert_eq!(ran.status.code(), Some(1), "{}", ran.everything());
    for line in [
        "FAIL    no errors: 1 call failed",
        "FAIL    no leaks: 2 things were left",
        "            allocate test_marked.py:11        2      0",
        "FAIL    cuMemAlloc_v2 <= 1: 2 calls",
        "FAIL    no wait of cuCtxSynchronize: 1 call may block the host",
        "the process of this test ended early; its calls are in",
        "the mark cutap cannot take no_eror=True; it takes no_errors=True",
        "PASSED test_marked.py::test_holds",
        "PASSED test_marked.py::test_without_mark",
        "SKIPPED [1] test_marked.py:49: not today",
        "FAILED test_marked.py::test_breaks_four_rules",
        "3 failed, 2 passed, 1 skipped",
    ] {
        assert!(ran.stdout.contains(line), "{line}\n{}", ran.everything());
    }
    let junit = std::fs::read_to_string(folder.join("all.xml")).unwrap();
    assert!(junit.contains("tests=\"6\"") && junit.contains("cuMemAlloc_v2 &lt;= 1: 2 calls"), "{junit}");
    let calls = python(&folder, "import cutap; print(len(cutap.open('kept/test_marked.py_test_holds.cutap').calls()))");
    assert_eq!(calls, "5\n");
}

#[test]
fn libraries_read_the_tables() {
    if std::env::var_os("CUTAP_LARGE").is_none() {
        return println!("skipped: tables in pyarrow, Polars, pandas, DuckDB (needs CUTAP_LARGE=1)");
    }
    let folder = scratch("module");
    let pip = ["-m", "pip", "install", "-q", "--target", "libraries", "pyarrow", "polars", "pandas", "duckdb"];
    let installed = finish(Command::new("python3").args(pip).current_dir(&*folder));
    if !installed.status.success() {
        return println!("skipped: tables in pyarrow, Polars, pandas, DuckDB (PyPI cannot be reached)");
    }
    record(&folder, &["--python"], "lines.py");
    let path = std::env::join_paths([module(), folder.join("libraries")]).unwrap();
    let mut command = Command::new("python3");
    command.arg(sources().join("python/arrow.py")).arg(folder.join("run.cutap"));
    let ran = finish(command.env("PYTHONPATH", path).env("CUTAP_PROGRAM", cutap()));
    assert!(ran.stdout == "ok\n", "{}", ran.everything());
}
