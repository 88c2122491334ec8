//! A signal whose handler makes a call, at every single instruction of a call: of the frame, of the records before and
//! behind it, of the driver. Whatever is interrupted, each call is recorded once, with its end, and the program gets
//! what it would get.

use crate::real::{build, linked, program, sim};
use cutap_e2e::{cutap, finish, json_lines, out, scratch};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// The assembler's frame, with an output and without; a call that goes by its steps; one that a linked-in runtime
/// reports. None may take a lock of the simulated driver, for the handler's call would wait for it.
const SIMULATED: [&str; 4] = ["cuCtxGetCurrent", "cuInit", "cuGetErrorString", "cudaGetDevice"];
/// What is shown of an argument: its number, where in it, and a number there.
type Shown = (usize, &'static str, i64);
/// The same with a separate driver: a launch; two outputs; a small input and an output; a function that is unknown.
/// With what is shown of their arguments.
const STAND_IN: [(&str, &[Shown]); 4] = [
    ("cuLaunchKernel", &[(9, "/value/to/items/1", 99)]),
    ("cuMemGetInfo_v2", &[(0, "/value/to", 3), (1, "/value/to", 1 << 40)]),
    ("cuArrayCreate_v2", &[(1, "/value/to/fields/Width", 0)]),
    ("cuStepNobodyDeclares", &[]),
];

/// The same where nothing is recorded, and the calls go past the frames: the program's own sampler must find its way
/// through.
#[test]
fn a_signal_at_every_instruction_outside_of_a_range() {
    let program = build("stepped", "stepped", &["-ldl"]);
    for function in ["cuCtxSetCurrent", "cuMemGetInfo_v2", "cuArrayCreate_v2", "cuStepNobodyDeclares", "cuLaunchKernel"]
    {
        let folder = scratch("outside");
        let mut command = Command::new(cutap());
        command
            .args(["record", "--capture-range=cudaProfilerApi", "-o"])
            .arg(folder.join("run.cutap"))
            .arg("--")
            .arg(&program);
        let run = finish(command.arg(function).env("LD_LIBRARY_PATH", stand_in()));
        if run.status.code() == Some(77) {
            return println!("skipped: a signal at every instruction: processes may not be traced here");
        }
        assert!(run.status.success(), "{function}: {run:?}");
    }
}

/// The folder of a driver that launches without a lock; made once, for a program that has it must not see it written
/// again.
pub fn stand_in() -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let made = FOLDER.get_or_init(|| {
        let folder = out().join("stepped");
        fs::create_dir_all(&folder).expect("the target folder is writable");
        let built = build("stand_in_driver", "libcuda.so.1-stepped", &["-shared", "-fPIC", "-Wl,-soname,libcuda.so.1"]);
        fs::copy(built, folder.join("libcuda.so.1")).expect("a copy");
        folder
    });
    made.clone()
}

#[test]
fn a_signal_at_every_instruction_of_a_call() {
    each_is_recorded_once(None);
}

/// The second one comes where the record is begun once more, and finds what the first one has written over.
#[test]
fn two_signals_at_every_instruction_of_a_call() {
    each_is_recorded_once(Some("14"));
}

/// With `steps` a second signal, so many instructions behind the first one's handler.
fn each_is_recorded_once(steps: Option<&str>) {
    let simulated = SIMULATED.map(|function| (function, &[][..]));
    for (function, shown_of_it) in simulated.into_iter().chain(STAND_IN) {
        // One of each frame: it takes twice as long.
        if steps.is_some()
            && !["cudaGetDevice", "cuLaunchKernel", "cuMemGetInfo_v2", "cuArrayCreate_v2"].contains(&function)
        {
            continue;
        }
        let of_runtime = function.starts_with("cuda");
        let program = match of_runtime {
            true => program("stepped", linked("12.9"), &["RUNTIME"]),
            false => Some(build("stepped", "stepped", &["-ldl"])),
        };
        let Some(program) = program else { continue };
        let folder = scratch("stepped");
        let file = folder.join("run.cutap");
        let simulated = SIMULATED.contains(&function);
        let driver = if simulated { sim().into() } else { stand_in() };
        let mut command = Command::new(cutap());
        command
            .arg("record")
            .arg("-o")
            .arg(&file)
            .arg("--")
            .arg(&program)
            .arg(function)
            .args(steps)
            .env("LD_LIBRARY_PATH", driver);
        let run = finish(&mut command);
        if run.status.code() == Some(77) {
            return println!("skipped: a signal at every instruction: processes may not be traced here");
        }
        assert!(run.status.success(), "{function}: {run:?}");
        let made: Vec<u64> = run.stdout.split_whitespace().map(|n| n.parse().expect("two numbers")).collect();
        let [outer, inner] = made[..] else { panic!("{run:?}") };
        let as_many = if steps.is_some() { inner > outer + 100 } else { inner + 1 == outer };
        assert!(outer > 150 && as_many, "{function}: {run:?}");

        let shown = finish(Command::new(cutap()).args(["show", "--json"]).arg(&file));
        let lines: Vec<Value> = json_lines(&shown.stdout).collect();
        let ends = |name: &str| lines.iter().filter(|l| l["name"] == name && l["state"] == "done").count() as u64;
        let begun = |name: &str| lines.iter().filter(|l| l["name"] == name && l["type"] == "call").count() as u64;
        // cuInit is called once more than it is counted.
        let outer = outer + u64::from(function == "cuInit");
        assert_eq!((ends(function), begun(function)), (outer, outer), "{function}");
        // The runtime asks the driver in each of its calls.
        let inner = if of_runtime { inner + outer } else { inner };
        assert_eq!((ends("cuCtxGetDevice"), begun("cuCtxGetDevice")), (inner, inner), "{function}");
        for &(argument, place, value) in shown_of_it {
            let kept = |l: &&Value| {
                l["name"] == function && l["arguments"][argument].pointer(place).and_then(Value::as_i64) == Some(value)
            };
            assert_eq!(lines.iter().filter(kept).count() as u64, outer, "{function}: {place}: {}", lines[0]);
        }
        let end = lines.iter().find(|l| l["type"] == "end").expect("an end");
        for never in ["nameless", "chunks_lost", "chunks_taken", "records_cut", "failed", "unfinished"] {
            assert_eq!(end[never], 0, "{function}: {never}: {end}");
        }
        let deep = end["counts"]
            .as_array()
            .is_some_and(|all| all.iter().any(|c| c["text"].as_str().unwrap_or("").contains("too deep")));
        assert!(!deep, "{function}: {end}");
    }
}
