//! The layer `submit`: what a driver puts into the rings of a GPU's channels, read back in the process. A model of the
//! kernel driver hands out memory files; the driver writes commands there as libcuda does.

use cutap_e2e::{cutap, finish, json_lines, out, scratch};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// `cutap trace WORDS -o FILE -- submits`: the file, and what cutap said.
fn run(words: &[&str]) -> String {
    let folder = scratch("submit");
    let file = folder.join("out");
    let mut command = Command::new(cutap());
    command.arg("trace").args(words).arg("-o").arg(&file).arg("--").arg(out().join("submits"));
    let done = finish(&mut command);
    assert_eq!((&*done.stdout, done.status.code()), ("ok\n", Some(0)), "{}", done.stderr);
    std::fs::read_to_string(&file).unwrap()
}

/// Without times, processes and addresses of the program's own memory.
fn normal(text: &str) -> String {
    let mut all = String::new();
    for line in text.lines().filter(|l| !l.starts_with("cutap: all lines") && !l.contains("cutap report")) {
        // The configuration of a launch is no time.
        let time = line.rsplit_once(" <").filter(|(_, time)| !time.starts_with('<'));
        let line = time.map_or(line, |(line, _)| line);
        let line = match line.split_once(' ') {
            Some((ids, rest)) if ids.contains('/') && ids.bytes().all(|b| b.is_ascii_digit() || b == b'/') => rest,
            _ => line,
        };
        let from = line.find("kernelParams=0x");
        let to = from.and_then(|from| Some(from + line[from..].find([',', ')'])?));
        all += &match (from, to) {
            (Some(from), Some(to)) => format!("{}kernelParams=ADDRESS{}\n", &line[..from], &line[to..]),
            _ => format!("{line}\n"),
        };
    }
    all
}

#[test]
fn each_submission_below_its_call() {
    let text = normal(&run(&["-e", "submit,driver"]));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/submit.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    assert_eq!(text, std::fs::read_to_string(&path).unwrap_or_default());
}

#[test]
fn a_real_time_thread_does_not_wait_for_an_ordinary_one() {
    let folder = scratch("real-time");
    let mut command = Command::new(cutap());
    command.args(["record", "-q", "-e", "driver,submit", "-o"]).arg(folder.join("run.cutap")).arg("--");
    let done = finish(command.arg(out().join("real_time")).env("LD_LIBRARY_PATH", out()));
    if done.status.code() == Some(77) {
        return println!("skipped: this user may start no real-time thread");
    }
    assert_eq!((&*done.stdout, done.status.code()), ("ok\n", Some(0)), "{}", done.stderr);
}

#[test]
fn off_unless_it_is_asked_for() {
    for words in [&[][..], &["-e", "driver"], &["-e", "syscall,driver"]] {
        let text = run(words);
        assert!(text.contains("cuLaunchKernel") && !text.contains("[submit]"), "{words:?}: {text}");
    }
}

/// Alone, with the layer `syscall`, and where the driver calls are not recorded.
#[test]
fn with_other_layers() {
    let launches = |text: &str| text.matches("launch grid").count();
    let (alone, kernel) = (run(&["-e", "submit"]), run(&["-e", "submit,syscall"]));
    assert_eq!((launches(&alone), launches(&kernel)), (2, 2), "{alone}{kernel}");
    assert!(kernel.contains("[syscall]") && !alone.contains("[syscall]"), "{alone}");
    let others = run(&["-e", "submit,!driver"]);
    assert!(launches(&others) == 2 && !others.contains("cuLaunchKernel"), "{others}");
    assert!(others.contains("by a call that is not recorded"), "{others}");
}

#[test]
fn json_has_entries_methods_and_fields() {
    let text = run(&["-e", "submit,driver", "--json"]);
    let all: Vec<Value> = json_lines(&text).collect();
    let submissions: Vec<&Value> = all.iter().map(|call| &call["submission"]).filter(|s| !s.is_null()).collect();
    assert_eq!(submissions.len(), 9, "{text}");
    // The ring has four entries: the fifth is at the place of the first.
    let firsts: Vec<u64> = submissions.iter().map(|s| s["first"].as_u64().unwrap()).collect();
    assert_eq!(firsts, [0, 1, 2, 3, 0, 1, 2, 3, 0]);
    let launch = submissions[2]["steps"].as_array().unwrap().iter().find(|step| step["do"] == "launch").unwrap();
    assert_eq!((&launch["grid"], &launch["fields"]["GRID_WIDTH"]), (&[7, 5, 3].into(), &"0x7".into()), "{launch}");
    let methods = submissions[4]["methods"].to_string();
    assert!(methods.contains(r#"[4,"LAUNCH_DMA","0x182"]"#), "{methods}");
    assert_eq!((&submissions[6]["flags"][0], &submissions[5]["not_read"]), (&"shared".into(), &28.into()));
    assert_eq!(submissions[1]["flags"][0], "before_the_call");
}

/// No request says which memory has pushbuffers: what was submitted does.
#[test]
fn pushbuffers_among_the_mappings() {
    let maps = |layers: &str| {
        let folder = scratch("submit");
        let file = folder.join("out");
        let mut command = Command::new(cutap());
        command.args(["record", "-e", layers, "-o"]).arg(&file).arg("--").arg(out().join("submits"));
        assert_eq!(finish(&mut command).status.code(), Some(0));
        let done = finish(Command::new(cutap()).args(["syscall", "maps"]).arg(&file));
        (done.stdout, done.stderr)
    };
    let of =
        |text: &str, object: &str| text.lines().find(|l| l.contains(object)).map(str::to_owned).unwrap_or_default();
    let (text, said) = maps("syscall,submit,driver");
    assert!(of(&text, "0x5c000019").contains("pushbuffers; system memory"), "{text}");
    assert!(of(&text, "0x5c000017").contains("GPFIFO, USERD; system memory"), "{text}");
    assert!(!said.contains("syscall,submit"), "{said}");
    let (text, said) = maps("syscall,driver");
    assert!(!text.contains("pushbuffers") && said.contains("cutap record -e syscall,submit PROG"), "{text}{said}");
}

/// Threads that use the GPU at the same time: each entry is shown once, and what is not marked is under its own call.
#[test]
fn several_threads() {
    const COPIES: u64 = 400;
    for threads in [2, 4] {
        let folder = scratch("submit");
        let file = folder.join("out");
        let mut command = Command::new(cutap());
        command.args(["record", "-e", "submit,driver", "-o"]).arg(&file).arg("--").arg(out().join("submits"));
        let done = finish(command.arg(threads.to_string()));
        assert_eq!((&*done.stdout, done.status.code()), ("ok\n", Some(0)), "{}", done.stderr);
        let json = finish(Command::new(cutap()).args(["show", "--json"]).arg(&file)).stdout;
        let lines: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let of = |name: &str| lines.iter().filter(|l| l["name"] == name).collect::<Vec<_>>();
        let number = |call: &Value, key: &str| call[key].as_u64().unwrap();
        let copy_of =
            |call: &Value| u64::from_str_radix(call["args"][0].as_str().unwrap().trim_start_matches("0x"), 16);
        let calls: Vec<(u64, u64, u64, u64)> = of("cuMemcpyDtoD_v2")
            .iter()
            .map(|c| (number(c, "tid"), number(c, "start_ns"), number(c, "duration_ns"), copy_of(c).unwrap()))
            .collect();
        assert_eq!(calls.len() as u64, COPIES * (threads + 2));

        let (mut places, mut to, mut alone, mut shared) = (Vec::new(), Vec::new(), 0, 0);
        for found in of("submit") {
            let submission = &found["submission"];
            assert_eq!((&submission["not_read"], &submission["not_understood"]), (&0.into(), &0.into()), "{found}");
            let (first, count) = (number(submission, "first"), number(submission, "count"));
            places.extend((first..first + count).map(|place| (number(found, "start_ns"), place % 1024)));
            let steps = submission["steps"].as_array().unwrap().iter().filter(|step| step["do"] == "copy");
            let copied: Vec<u64> = steps
                .map(|s| u64::from_str_radix(s["to"].as_str().unwrap().trim_start_matches("0x"), 16).unwrap())
                .collect();
            let (tid, start) = (number(found, "tid"), number(found, "start_ns"));
            let around =
                calls.iter().find(|(t, begin, length, _)| *t == tid && (*begin..=begin + length).contains(&start));
            let is_shared = submission["flags"].as_array().unwrap().contains(&"shared".into());
            match around {
                Some((.., own)) if !is_shared => assert_eq!((copied.as_slice(), count), (&[*own][..], 1), "{found}"),
                _ => {}
            }
            let at_once = copied.iter().all(|at| (1..=threads).contains(&(at >> 32 & 0xff)));
            assert!(!is_shared || at_once, "one thread alone is marked: {found}");
            let meets =
                copied.iter().any(|at| (1..=threads).contains(&(at >> 32 & 0xff)) && at & 0xffff_ffff == 200 * 64);
            assert!(!meets || is_shared, "all threads were in this call: {found}");
            (alone, shared) = if is_shared { (alone, shared + 1) } else { (alone + 1, shared) };
            to.extend(copied);
        }
        // Entries follow each other without a gap. Those of one submission have the same time, and may be
        // around the end of the ring.
        places.sort_by_key(|(start, _)| *start);
        assert!(places.iter().zip(0..).all(|((_, place), n)| *place == n % 1024), "{places:?}");
        let mut wanted: Vec<u64> =
            (0..threads + 2).flat_map(|t| (0..COPIES).map(move |n| 0x7f00_0000_0000 + (t << 32) + n * 64)).collect();
        wanted.sort_unstable();
        to.sort_unstable();
        assert!(wanted == to, "{} copies of {}", to.len(), wanted.len());
        assert!(alone as u64 >= 2 * COPIES && shared > 1, "{alone} alone, {shared} shared");
        assert!(done.stderr.contains(&format!("{shared} submissions marked shared")), "{shared}: {}", done.stderr);
    }
}
