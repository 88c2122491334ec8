//! Collectors that are killed while they write to a pipe or a terminal.

use super::run::{LONG, signal};
use cutap_e2e::{counted, cutap, out, scratch, wait_for};
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// In a pipe and on a terminal, where nothing can be taken back: each line stands there once, and whole, also where the
/// collector was killed while it waited for its reader, in the middle of a line.
#[test]
fn each_line_stands_once_in_a_pipe_and_on_a_terminal() {
    for terminal in [false, true] {
        let folder = scratch("pipe");
        let run = folder.join("run");
        let line = format!(
            "exec '{}' trace --json --run-dir '{}' -- sh -c 'exec ./steady > /dev/null'",
            cutap().display(),
            run.display()
        );
        let mut command = Command::new(if terminal { "script" } else { "sh" });
        match terminal {
            true => command.args(["-q", "-e", "-c", &line, "/dev/null"]),
            false => command.args(["-c", &format!("{line} 2>&1")]),
        };
        command.current_dir(out()).env("LD_LIBRARY_PATH", out()).env("FIXTURE_COUNTS", folder.join("counts"));
        let mut front = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let (mut output, mut text) = (front.stdout.take().unwrap(), Vec::new());
        for n in 1..=3 {
            let mut some = vec![0; 65_536];
            while text.len() < n * 300_000 + n * 12_345 {
                let read = output.read(&mut some).unwrap();
                assert!(read > 0, "it ended early");
                text.extend_from_slice(&some[..read]);
            }
            // Nobody reads: it fills up.
            std::thread::sleep(Duration::from_millis(60 * n as u64));
            let mut pid = None;
            wait_for("a collector", LONG, || {
                pid = collector_of(&run);
                pid.is_some()
            });
            signal("KILL", &[pid.unwrap()]);
        }
        output.read_to_end(&mut text).unwrap();
        assert!(front.wait().unwrap().success());
        let text = String::from_utf8(text).unwrap().replace('\r', "");
        let (said, lines): (Vec<&str>, Vec<&str>) = text.lines().partition(|l| l.starts_with("cutap: "));
        // One that is killed before it is ready is not told of.
        let told = said.iter().filter(|l| l.ends_with("another goes on")).count();
        assert!((1..=3).contains(&told), "{said:?}");
        let mut shown = BTreeMap::new();
        for line in lines {
            let line: serde_json::Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
            if line["type"] == "call" {
                let word = |what: &str| line[what].as_str().unwrap().to_owned();
                *shown.entry(word("library") + ":" + &word("name")).or_default() += 1;
            }
        }
        assert_eq!(shown, counted(&folder.join("counts")), "terminal: {terminal}");
    }
}

/// The collector of a run, whoever started it.
fn collector_of(run: &Path) -> Option<String> {
    let pids = fs::read_dir("/proc").unwrap().flatten().filter_map(|e| e.file_name().into_string().ok());
    let mut pids = pids.filter(|pid| pid.parse::<u32>().is_ok());
    pids.find(|pid| {
        let words = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words: Vec<&str> = words.split('\0').collect();
        let ["cutap", "__collect", options, ..] = words[..] else { return false };
        let options: serde_json::Value = serde_json::from_str(options).unwrap();
        options["run"].as_str().map(Path::new) == Some(run)
    })
}
