//! A recording loses nothing, however the program ends and whoever is killed, and shows what a trace of the same program shows.

use cutap_e2e::{calls_in, case, cutap, finish, normal_form, out, scratch, wait_for};
use std::path::Path;
use std::process::{Command, Stdio};
use std::{fs, time::Duration};

fn record(file: &Path, name: &str) -> Command {
    let mut command = Command::new(cutap());
    command.arg("record").arg("-o").arg(file).arg("--").arg(out().join(name)).env("LD_LIBRARY_PATH", out());
    command
}

fn show(file: &Path) -> String {
    finish(Command::new(cutap()).arg("show").arg(file)).everything()
}

#[test]
fn every_end_of_a_program() {
    for end in ["end_exit", "end_kill", "end_segv", "end_abort"] {
        case(end).like("end_in_driver").recorded().golden();
    }
    case("end_in_callback").recorded().golden();
    case("last_words").recorded().golden();
    case("layers").recorded().golden();
}

#[test]
fn processes_and_threads() {
    case("exec").recorded().golden();
    case("fork_before").recorded().golden();
    case("fork_after").recorded().golden();
    case("vfork_after").like("fork_after").recorded().golden();
    case("pthread_exit").recorded().golden();
    case("thread_left").recorded().golden();
}

#[test]
fn every_call_of_many_threads() {
    case("threads_at_once").recorded().counts();
    case("threads_in_turn").recorded().counts();
    case("signal_storm").recorded().counts();
    case("grandchild").recorded().counts();
}

#[test]
fn filters_as_in_a_trace() {
    let folder = scratch("filters");
    let file = folder.join("run.cutap");
    for (name, filter) in [("layers", "driver"), ("layers", "libcublas*"), ("lazy", "cuMemAlloc*"), ("lazy", "error")] {
        let shown = |flags: &[&str]| {
            let text = finish(Command::new(cutap()).arg("show").args(flags).arg(&file)).stdout;
            normal_form(&text).lines().map(|l| format!("{}\n", l.trim_start())).collect::<String>()
        };
        let traced = normal_form(&case(name).text(&["-e", filter]));
        let traced: String = traced.lines().map(|l| format!("{}\n", l.trim_start())).collect();
        finish(&mut record(&file, name));
        assert_eq!(shown(&["-e", filter]), traced, "{name} {filter}: at show");
        let mut only = Command::new(cutap());
        only.args(["record", "-e", filter, "-o"]).arg(&file).arg("--").arg(out().join(name));
        finish(only.env("LD_LIBRARY_PATH", out()));
        assert_eq!(shown(&["-e", filter]), traced, "{name} {filter}: at record and show");
    }
}

#[test]
fn cut_off_and_damaged() {
    let folder = scratch("cut");
    let file = folder.join("run.cutap");
    finish(&mut record(&file, "layers"));
    let whole = fs::read(&file).unwrap();
    let text = show(&file);
    assert!(!text.contains("cut off") && !text.contains("in order"), "{text}");
    fs::write(&file, &whole[..whole.len() - 3]).unwrap();
    let cut = show(&file);
    assert!(cut.contains("is cut off; what stands before byte"), "{cut}");
    assert_eq!(normal_form(&cut), normal_form(&text));
    let mut damaged = whole.clone();
    let end = damaged.len() - 30;
    damaged[end] ^= 1;
    fs::write(&file, &damaged).unwrap();
    assert!(show(&file).contains("is damaged at byte"));
    let mut newer = whole;
    newer[8] = 77;
    fs::write(&file, &newer).unwrap();
    let refused = finish(Command::new(cutap()).arg("show").arg(&file));
    assert!(refused.stderr.contains("another version") && !refused.status.success(), "{}", refused.stderr);
    fs::write(&file, "something else, of no interest").unwrap();
    let refused = finish(Command::new(cutap()).arg("show").arg(&file));
    assert!(refused.stderr.contains("is not a recording of cutap") && !refused.status.success(), "{}", refused.stderr);
}

/// The front dies with its collector: what the run folder holds is taken in, and no call is there twice.
#[test]
fn both_killed_and_recovered() {
    let folder = scratch("killed");
    let (file, run) = (folder.join("run.cutap"), folder.join("run"));
    let mut command = Command::new(cutap());
    command.args(["record", "--run"]).arg(&run).arg("-o").arg(&file).arg("--").arg(out().join("steady"));
    command.env("LD_LIBRARY_PATH", out()).env("FIXTURE_COUNTS", folder.join("counts"));
    let mut front = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_for("chunks in the file", Duration::from_secs(60), || fs::metadata(&file).is_ok_and(|m| m.len() > 20_000));
    let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", front.id())).unwrap();
    let collector = children.split_whitespace().find(|pid| {
        fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|words| words.windows(9).any(|w| w == b"__collect"))
    });
    let pids = [collector.expect("the collector is a child of the front").to_owned(), front.id().to_string()];
    assert!(Command::new("sh").args(["-c", "kill -9 \"$0\" \"$1\""]).args(&pids).status().unwrap().success());
    front.wait().unwrap();
    assert!(show(&file).contains("does not end in order"));
    wait_for("the program's end", Duration::from_secs(60), || folder.join("counts.over").exists());
    for _ in 0..2 {
        let recovered = finish(Command::new(cutap()).arg("recover").arg(&run).arg("-o").arg(&file));
        assert!(recovered.status.success(), "{}", recovered.stderr);
    }
    let text = show(&file);
    assert!(!text.contains("in order"), "{text}");
    let calls = calls_in(&normal_form(&text));
    assert_eq!(calls, cutap_e2e::counted(&folder.join("counts")));
    let again = finish(Command::new(cutap()).arg("recover").arg(&run).arg("-o").arg(folder.join("new.cutap")));
    assert!(again.status.success(), "{}", again.stderr);
}
