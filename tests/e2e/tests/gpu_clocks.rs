//! Clocks of the GPUs in runs with `--gpu-time`, by the simulated NVML: a drop of the clock is reported, and nothing
//! that NVML does can hold up the run.

use cutap_e2e::{Steps, cutap, finish, json_lines, out, scratch, wait_for};
use serde_json::Value;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const DROP: &str = "device 0: SM clock 1395 MHz of 1980 from ";
const WORD_OF_SAMPLER: &str = "__gpu-clocks";

/// A run of the steps, and the files of what cutap says and writes.
struct Run {
    steps: Steps,
    output: PathBuf,
    messages: PathBuf,
}

impl Run {
    fn start(folder: &Path, words: &[&str], faults: &str, variables: &[(&str, &str)], arguments: &[&str]) -> Run {
        let (output, messages) = (folder.join("output"), folder.join("messages"));
        let mut command = Command::new(cutap());
        command.args(words).args(["--sim", "--gpu-time", "-o"]).arg(&output).arg(out().join("gpu_steps"));
        command.args(arguments).env("CUTAP_SIM_NVML_FAULTS", faults).envs(variables.iter().copied());
        let steps = Steps::start(command.stderr(File::create(&messages).unwrap()));
        Run { steps, output, messages }
    }

    /// Steps for some seconds, and ends it: its messages. The program's output must be the usual one.
    fn finish_after(mut self, time: Duration) -> (PathBuf, String) {
        self.steps.step();
        std::thread::sleep(time);
        let (rest, status) = self.steps.finish();
        assert!(status.success() && rest == "variable: (unset)\n", "{status} {rest}");
        (self.output, fs::read_to_string(self.messages).unwrap())
    }
}

fn lines(words: &[&str], file: &Path) -> Vec<Value> {
    let done = finish(Command::new(cutap()).args(words).arg("--json").arg(file));
    assert!(done.status.success(), "{done:?}");
    json_lines(&done.stdout).collect()
}

fn text(words: &[&str], file: &Path) -> String {
    let done = finish(Command::new(cutap()).args(words).arg(file));
    assert!(done.status.success(), "{done:?}");
    done.everything()
}

fn clocks(all: &[Value]) -> Vec<&Value> {
    all.iter().filter(|line| line["type"] == "gpu_clock").collect()
}

fn of_clocks(messages: &str) -> Vec<&str> {
    let is_it = |line: &&str| line.contains("SM clock") || line.contains("clocks of ");
    messages.lines().filter(is_it).map(|line| line.trim_start_matches("cutap: ")).collect()
}

/// Processes that ask this NVML.
fn samplers(library_folder: &Path) -> Vec<u32> {
    let pids = fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_one = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        line.contains(WORD_OF_SAMPLER) && line.contains(&*library_folder.to_string_lossy())
    };
    pids.filter(is_one).collect()
}

#[test]
fn a_drop_of_the_clock_is_reported() {
    let folder = scratch("gpu-clocks-drop");
    let run = Run::start(&folder, &["record"], "drop", &[], &[]);
    let maps = fs::read_to_string(format!("/proc/{}/maps", run.steps.pid)).unwrap();
    assert!(maps.contains("libcuda.so.1") && !maps.contains("libnvidia-ml"), "the program has no NVML");
    let (file, messages) = run.finish_after(Duration::from_millis(4200));
    let [note] = of_clocks(&messages)[..] else { panic!("{messages}") };
    assert!(note.starts_with(DROP) && note.ends_with(" of the run: power cap"), "{note}");
    assert!(text(&["report", "--notes"], &file).contains(note));
    for report in [&["report", "--by", "kernel"][..], &["report", "--gaps"]] {
        let said = text(report, &file);
        let line = said.lines().find(|line| line.starts_with("SM clocks at work: ")).expect(&said);
        assert!(line.starts_with("SM clocks at work: device 0 1395 to 1980 MHz of 1980 ("), "{line}");
        assert!(line.ends_with(" slow: power cap)"), "{line}");
    }
    let all = lines(&["show"], &file);
    let samples = clocks(&all);
    let mut slow: Vec<bool> = samples.iter().map(|of| of["sm_mhz"] == 1395).collect();
    slow.dedup();
    assert_eq!(slow, [false, true, false], "{samples:?}");
    for sample in samples {
        let reasons = if sample["sm_mhz"] == 1395 { "[\"power_cap\"]" } else { "[]" };
        assert_eq!(sample["reasons"].to_string(), reasons);
        assert_eq!((&sample["device"], &sample["max_sm_mhz"]), (&Value::from(0), &Value::from(1980)));
        assert_eq!(sample["name"], "NVIDIA H200");
    }
    let slow = &all.last().unwrap()["slow_clocks"];
    assert_eq!(slow.as_array().map(Vec::len), Some(1), "{slow}");
    let took = slow[0]["until_ns"].as_u64().unwrap() - slow[0]["from_ns"].as_u64().unwrap();
    assert!((900_000_000..3_300_000_000).contains(&took), "{slow}");
}

#[test]
fn exports_have_a_track_of_the_clock() {
    let folder = scratch("gpu-clocks-exports");
    let (file, _) = Run::start(&folder, &["record"], "drop", &[], &[]).finish_after(Duration::from_millis(1500));
    let (chrome, perfetto) = (folder.join("chrome.json"), folder.join("perfetto"));
    for (flag, to) in [("--chrome", &chrome), ("--perfetto", &perfetto)] {
        let done = finish(Command::new(cutap()).args(["export", flag]).arg(to).arg(&file));
        assert!(done.status.success(), "{done:?}");
    }
    let events: Value = serde_json::from_slice(&fs::read(chrome).unwrap()).unwrap();
    let values: Vec<u64> = events
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["ph"] == "C" && event["name"] == "SM clock MHz, device 0")
        .map(|event| event["args"]["MHz"].as_u64().unwrap())
        .collect();
    assert_eq!(values[..2], [1980, 1395], "{values:?}");
    let bytes = fs::read(perfetto).unwrap();
    let has = |text: &[u8]| bytes.windows(text.len()).any(|window| window == text);
    // Type 4, and the value 1395 as field 30.
    assert!(has(b"SM clock MHz, device 0") && has(&[0x48, 4]) && has(&[0xf0, 0x01, 0xf3, 0x0a]));
}

#[test]
fn a_live_trace_ends_with_the_drop() {
    let folder = scratch("gpu-clocks-live");
    let (output, _) = Run::start(&folder, &["trace"], "drop", &[], &[]).finish_after(Duration::from_millis(2500));
    let said = fs::read_to_string(output).unwrap();
    assert!(of_clocks(&said).iter().any(|line| line.starts_with(DROP) && line.ends_with(": power cap")), "{said}");
}

#[test]
fn an_idle_gpu_is_no_news() {
    let folder = scratch("gpu-clocks-idle");
    let run_dir = folder.join("run");
    let words = ["record", "--run-dir", run_dir.to_str().unwrap()];
    let (file, messages) = Run::start(&folder, &words, "", &[], &[]).finish_after(Duration::from_millis(1300));
    assert_eq!(of_clocks(&messages), [""; 0]);
    let all = lines(&["show"], &file);
    assert!(clocks(&all).len() >= 2, "{all:?}");
    assert!(clocks(&all).iter().all(|of| of["sm_mhz"] == 345 && of["reasons"] == Value::from(vec!["idle"])));
    assert!(!text(&["report", "--by", "kernel"], &file).contains("SM clocks"));
    // The run directory has them too, and so has a recording that is made of it.
    let recovered = folder.join("recovered");
    finish(Command::new(cutap()).arg("recover").arg(&run_dir).arg("-o").arg(&recovered));
    // A collector had read the calls, so `show` fails.
    let shown = finish(Command::new(cutap()).args(["show", "--json"]).arg(&recovered));
    assert_eq!(clocks(&json_lines(&shown.stdout).collect::<Vec<_>>()), clocks(&all));
}

/// CUDA_VISIBLE_DEVICES gives the devices other numbers than NVML has.
#[test]
fn devices_have_the_numbers_of_the_program() {
    let folder = scratch("gpu-clocks-devices");
    let variables = [("CUTAP_SIM_DEVICES", "3"), ("CUDA_VISIBLE_DEVICES", "2,0")];
    for (arguments, expected) in [(&["devices"][..], "1 null 0"), (&[], "null null null")] {
        let run = Run::start(&folder, &["record"], "busy", &variables, arguments);
        let (file, _) = run.finish_after(Duration::from_millis(500));
        let all = lines(&["show"], &file);
        let mut numbers = vec![String::new(); 3];
        for clock in clocks(&all) {
            numbers[clock["nvml_device"].as_u64().unwrap() as usize] = clock["device"].to_string();
        }
        assert_eq!(numbers.join(" "), expected);
        let said = text(&["report", "--by", "kernel"], &file);
        let line = said.lines().find(|line| line.starts_with("SM clocks at work: ")).expect(&said);
        let listed: Vec<&str> = line.trim_start_matches("SM clocks at work: ").split("; ").collect();
        // The program sees two devices, and its kernel ran on the first one.
        if !arguments.is_empty() {
            assert_eq!(listed, ["device 0 1980 MHz of 1980"]);
        } else {
            assert_eq!((listed.len(), listed[1]), (3, "NVML device 1 (NVIDIA H200) 1980 MHz of 1980"));
        }
    }
}

#[test]
fn one_note_where_nvml_cannot_be_asked() {
    let folder = scratch("gpu-clocks-without");
    let signal = "no clocks of the GPUs from some time on: the process that asks NVML crashed (signal 6)";
    for (faults, note) in [
        ("refuse", "no clocks of the GPUs: NVML did not start (no permission)"),
        ("unsupported", "no clocks of device 0: NVML does not tell them (not supported)"),
        ("crash", signal),
    ] {
        let (file, messages) =
            Run::start(&folder, &["record"], faults, &[], &[]).finish_after(Duration::from_millis(700));
        assert_eq!(of_clocks(&messages), [note], "{messages}");
        assert_eq!(lines(&["show"], &file).iter().filter(|line| line["type"] == "gpu_clock").count(), 0);
    }
}

/// A library that cannot be loaded is none.
#[test]
fn one_note_where_there_is_no_nvml() {
    let folder = scratch("gpu-clocks-none");
    fs::write(folder.join("libnvidia-ml.so.1"), b"\x7fELF\x02").unwrap();
    let mut record = Command::new(cutap());
    record.args(["record", "--gpu-time", "-o"]).arg(folder.join("run.cutap")).args([
        "sh",
        "-c",
        "sleep 0.7; echo over",
    ]);
    let done = finish(record.env("LD_LIBRARY_PATH", &*folder));
    assert!(done.status.success() && done.stdout == "over\n", "{done:?}");
    let note = "no clocks of the GPUs: there is no libnvidia-ml.so.1, which comes with the driver";
    assert_eq!(of_clocks(&done.stderr), [note], "{done:?}");
}

/// NVML hangs in its start: neither the program nor the end of the run waits for it, and no process stays.
#[test]
fn the_run_ends_though_nvml_hangs() {
    let folder = scratch("gpu-clocks-hang");
    let cache = folder.join("cache");
    fs::create_dir(&cache).unwrap();
    let variables = [("CUTAP_CACHE_DIR", cache.to_str().unwrap())];
    let mut run = Run::start(&folder, &["record"], "hang", &variables, &[]);
    wait_for("the process that asks NVML", Duration::from_secs(20), || samplers(&cache).len() == 1);
    run.steps.step();
    std::thread::sleep(Duration::from_millis(6500));
    let begin = Instant::now();
    let (_, status) = run.steps.finish();
    let took = begin.elapsed();
    assert!(status.success() && took < Duration::from_secs(2), "{took:?}");
    wait_for("no such process", Duration::from_secs(5), || samplers(&cache).is_empty());
    let messages = fs::read_to_string(run.messages).unwrap();
    let note = "no clocks of the GPUs from some time on: NVML did not answer for 5 s";
    assert_eq!(of_clocks(&messages), [note], "{messages}");
}

/// Another collector continues, with another process that asks; no record is lost or twice there.
#[test]
fn clocks_go_on_when_a_collector_is_killed() {
    let folder = scratch("gpu-clocks-killed");
    let cache = folder.join("cache");
    fs::create_dir(&cache).unwrap();
    let variables = [("CUTAP_CACHE_DIR", cache.to_str().unwrap())];
    let run = Run::start(&folder, &["record"], "busy", &variables, &[]);
    let first = || samplers(&cache).first().copied();
    wait_for("the process that asks NVML", Duration::from_secs(20), || first().is_some());
    std::thread::sleep(Duration::from_millis(2300));
    let before = first().unwrap();
    let stat = fs::read_to_string(format!("/proc/{before}/stat")).unwrap();
    let collector = stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1)).unwrap().to_owned();
    assert!(Command::new("kill").args(["-KILL", &collector]).status().unwrap().success());
    wait_for("another process", Duration::from_secs(20), || first().is_some_and(|pid| pid != before));
    assert!(!samplers(&cache).contains(&before), "it ends with its collector");
    let (file, messages) = run.finish_after(Duration::from_millis(1500));
    assert!(messages.contains("another goes on"), "{messages}");
    let all = lines(&["show"], &file);
    let times: Vec<u64> = clocks(&all).iter().map(|of| of["ns"].as_u64().unwrap()).collect();
    assert!(times.len() >= 4 && times.is_sorted(), "{times:?}");
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");
}
