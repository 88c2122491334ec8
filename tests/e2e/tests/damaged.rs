//! Damaged parts of a run directory's rings: whoever reads the folder and whoever takes it into a file says the same
//! number in one sentence, with 125, gives all that is there, and makes no calls or events of bytes that nobody wrote.
//! What lives, was killed or is drained is never called damaged.

#[path = "damaged/files.rs"]
mod files;

use cutap_e2e::{Finished, cutap, finish, out, scratch, wait_for};
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);
const PAGE: usize = 4096;
const CHUNK: usize = 128 << 10;

fn run(words: &[&str], paths: &[&Path]) -> Finished {
    finish(Command::new(cutap()).args(words).args(paths).env("LD_LIBRARY_PATH", out()))
}

/// A shell in which this program is recorded into a folder by nobody but itself.
fn under_env(folder: &Path, program: &str) -> Command {
    let script = r#"set -e; eval "$("$0" env -o "$1")"; exec "$2""#;
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).arg(cutap()).arg(folder).arg(out().join(program)).env("LD_LIBRARY_PATH", out());
    shell
}

fn process(run: &Path) -> PathBuf {
    fs::read_dir(run).unwrap().map(|e| e.unwrap().path()).find(|p| p.is_dir()).expect("a process")
}

/// Bytes that look like nothing, others for each seed.
fn random(len: usize, seed: u64) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(seed);
    std::iter::repeat_with(|| random.u8(..)).take(len).collect()
}

fn both(read: &Finished) -> String {
    format!("{}{}", read.stdout, read.stderr)
}

/// Bytes that are written over a ring, and where.
type Write = (usize, Vec<u8>);

/// Lines of calls.
fn calls(shown: &Finished) -> Vec<&str> {
    shown.stdout.lines().filter(|line| line.contains("cuMemAlloc_v2") || line.contains("cuInit")).collect()
}

/// The number of lost calls in a sentence.
fn lost(sentence: &str) -> &str {
    let from = sentence.find(", with ").unwrap_or(sentence.len());
    let rest = &sentence[from..];
    rest.find(" call").map_or("", |end| &rest[..end])
}

/// The folder, and a file that is made of it, say that so many parts are damaged, or that this file cannot be read. What is shown of them.
fn is_said_alike(from: &Path, file: &Path, what: &str, parts: Option<u64>, file_named: Option<&str>) -> usize {
    let _ = fs::remove_file(file);
    let recovered = run(&["recover"], &[from, Path::new("-o"), file]);
    let of = |n| if n == 1 { "1 part of its calls is".to_owned() } else { format!("{n} parts of its calls are") };
    let parts = parts.map(of);
    assert_eq!(recovered.status.code(), Some(125), "{what}: {recovered:?}");
    let last = recovered.stderr.lines().last().unwrap_or_default();
    let in_folder = parts.as_ref().map(|parts| format!("{parts} damaged in {}", from.display()));
    assert!(in_folder.iter().all(|said| last.contains(said)), "{what}: {last}");
    assert!(file_named.iter().all(|said| last.contains(said)), "{what}: {last}");
    let export = from.with_extension("exported");
    let mut shown = Vec::new();
    // There are two ways of reading, of which each command has one.
    let commands: [&[&str]; 6] =
        [&["show"], &["report"], &["show", "-c"], &["report", "--tree"], &["report", "--leaks"], &["export", "--json"]];
    for words in &commands[..if what.ends_with(" 3") { 6 } else { 2 }] {
        let paths: &[&Path] = if words[0] == "export" { &[&export, from] } else { &[from] };
        let read = run(words, paths);
        let told = format!("{what}, {words:?}: {}", read.stderr);
        assert_eq!(read.status.code(), Some(125), "{told}");
        let sentence = read.stderr.lines().filter(|line| line.contains("is damaged, and all else in it was read: "));
        let sentence: Vec<&str> = sentence.collect();
        assert_eq!(sentence.len(), 1, "{told}");
        assert!(parts.iter().all(|parts| sentence[0].contains(&format!("{parts} damaged"))), "{told}");
        assert_eq!(lost(sentence[0]), lost(last), "{told}: the same number of lost calls as recover");
        assert!(file_named.iter().all(|said| sentence[0].contains(said)), "{told}");
        let all = both(&read);
        let odd = all.lines().find(|l| ["cut off: ", "slot ", "without a name"].iter().any(|w| l.contains(w)));
        assert_eq!(odd, None, "{told}");
        shown.push(read);
    }
    let taken = run(&["show"], &[file]);
    assert_eq!(taken.status.code(), Some(125), "{what}: {}", taken.stderr);
    let missing = parts.as_ref().map(|parts| format!("{parts} missing"));
    assert!(missing.iter().all(|said| taken.stderr.contains(said)), "{what}: {}", taken.stderr);
    assert!(parts.is_none() || lost(&taken.stderr) == lost(last), "{what}: {last}, {}", taken.stderr);
    assert!(!both(&taken).contains("slot "), "{what}");
    let (of_folder, of_file) = (calls(&shown[0]), calls(&taken));
    assert_eq!(of_folder.len(), of_file.len(), "{what}: what is there is in the file, and nothing else");
    of_folder.len()
}

#[test]
fn each_kind_of_damage() {
    let folder = scratch("damage");
    let (from, file) = (folder.join("run"), folder.join("new.cutap"));
    assert!(finish(&mut under_env(&from, "steady")).status.success());
    let ring = process(&from).join("t1.ring");
    let good = fs::read(&ring).unwrap();
    let chunks = (good.len() - PAGE) / CHUNK;
    assert!(chunks > 5 && good[PAGE + CHUNK + 8] == 2, "chunks stand where this test takes them to be");
    let whole = run(&["show"], &[&from]);
    assert!(whole.status.success() && whole.stderr.is_empty(), "{:?} {}", whole.status, whole.stderr);
    let all = calls(&whole).len();
    let at = |n: usize| PAGE + n * CHUNK;
    // What is written where, parts that are damaged, and calls that must still be there: those of all other parts, and
    // of their own before.
    let each = all / 2 / chunks;
    let mut damages: Vec<(String, Vec<Write>, u64)> = Vec::new();
    for n in [0, 3, chunks - 1] {
        damages.push((format!("no head {n}"), vec![(at(n), vec![0; 64])], 1));
        damages.push((format!("a random head {n}"), vec![(at(n), random(64, n as u64 + 1))], 1));
        damages.push((format!("no first page of {n}"), vec![(at(n), vec![0; PAGE])], 1));
    }
    for seed in 0..12 {
        let inside = at(2) + 64 + 1000 * 8 + seed as usize * 40;
        damages.push((format!("random records {seed}"), vec![(inside, random(5000, seed))], 1));
    }
    damages.push(("zeros in it".into(), vec![(at(2) + 30_000, vec![0; 400])], 1));
    damages.push(("all of one is zeros".into(), vec![(at(2), vec![0; CHUNK])], 1));
    damages.push(("one that says to be free".into(), vec![(at(2), vec![0; 4])], 1));
    damages.push(("one without a number".into(), vec![(at(2) + 8, vec![0; 8])], 1));
    damages.push(("one with another's number".into(), vec![(at(2) + 8, vec![5, 0])], 1));
    damages.push(("one with any number".into(), vec![(at(2) + 8, random(8, 7))], 1));
    let two = vec![(at(1), vec![0; 64]), (at(4) + 2000, random(3000, 3))];
    damages.push(("two of them".into(), two, 2));
    for (what, writes, parts) in damages {
        fs::write(&ring, &good).unwrap();
        let place = fs::File::options().write(true).open(&ring).unwrap();
        writes.iter().for_each(|(at, bytes)| place.write_all_at(bytes, *at as u64).unwrap());
        let shown = is_said_alike(&from, &file, &what, Some(parts), None);
        // One that is damaged has about as many calls as each other; of each end two lines at most are taken apart.
        let least = all - (parts as usize + 1) * each * 2;
        assert!((least..=all + 8).contains(&shown), "{what}: {shown} of {all}, {each} in each");
    }
    // Cut off: within the records of a part, within a head, and with it a page that says fewer parts than there are.
    for (what, length, parts) in [
        ("cut off within a part", at(3) + 50_000, chunks as u64 - 3),
        ("cut off within a head", at(3) + 40, chunks as u64 - 3),
        ("cut off behind a part", at(3), chunks as u64 - 3),
    ] {
        fs::write(&ring, &good[..length]).unwrap();
        let named = format!("t1.ring (it is cut off at byte {length})");
        let shown = is_said_alike(&from, &file, what, Some(parts), Some(&named));
        assert!(shown > all / 2 + 2 * each, "{what}: {shown} of {all}");
    }
    for (what, bytes) in [("no page", vec![0; PAGE]), ("a random page", random(PAGE, 9))] {
        fs::write(&ring, &good).unwrap();
        fs::File::options().write(true).open(&ring).unwrap().write_all_at(&bytes, 0).unwrap();
        let shown = is_said_alike(&from, &file, what, None, Some("t1.ring (its head is damaged)"));
        assert!(shown >= all / 2 - 2, "{what}: the other thread is whole, {shown} of {all}");
    }
    // A page that says fewer parts than there are, which are all there.
    fs::write(&ring, &good).unwrap();
    fs::File::options().write(true).open(&ring).unwrap().write_all_at(&[2, 0, 0, 0], 16).unwrap();
    let shown = run(&["show"], &[&from]);
    assert_eq!((shown.status.code(), calls(&shown).len()), (Some(0), all), "{}", shown.stderr);
    let _ = fs::remove_file(&file);
    assert!(run(&["recover"], &[&from, Path::new("-o"), &file]).status.success());
    assert_eq!(calls(&run(&["show"], &[&file])).len(), all);
}

/// Calls whose names are lost are calls still, and random bytes in a ring beside them are still damage where that can
/// be told.
#[test]
fn names_that_are_missing_take_no_calls_away() {
    let folder = scratch("damage_names");
    let (from, file) = (folder.join("run"), folder.join("new.cutap"));
    assert!(finish(&mut under_env(&from, "layers")).status.success());
    let names = process(&from).join("names");
    let good = fs::read(&names).unwrap();
    for bytes in [vec![], good[..good.len() - 64].to_vec(), good[..1024].to_vec(), random(good.len(), 5)] {
        fs::write(&names, &bytes).unwrap();
        for words in [&["show"][..], &["report"]] {
            let read = run(words, &[&from]);
            assert_eq!((read.status.code(), read.stderr.contains("/names (it is ")), (Some(125), true), "{read:?}");
            assert!(
                !read.stderr.contains("part of its calls") && !read.stderr.contains("parts of its calls"),
                "{read:?}"
            );
            assert!(bytes.len() > 2000 && bytes[..2] == good[..2] || both(&read).contains("slot "), "{read:?}");
        }
        let _ = fs::remove_file(&file);
        let recovered = run(&["recover"], &[&from, Path::new("-o"), &file]);
        assert_eq!(recovered.status.code(), Some(125), "{recovered:?}");
        assert!(!recovered.stderr.contains("of its calls"), "{recovered:?}");
        let lines = |path: &Path| run(&["show"], &[path]).stdout.lines().count();
        assert_eq!(lines(&from), lines(&file));
    }
}

/// Nothing is said of damage.
fn is_good(from: &Path, when: &str) {
    let export = from.with_extension("exported");
    for words in [&["show"][..], &["report"], &["report", "--leaks"], &["export", "--json"]] {
        let paths: &[&Path] = if words[0] == "export" { &[&export, from] } else { &[from] };
        let read = run(words, paths);
        let bad = read.stderr.contains("damaged") || read.stderr.contains("parts of its calls");
        assert_eq!((read.status.code(), bad), (Some(0), false), "{when}, {words:?}: {}", read.stderr);
        assert!(!both(&read).contains("slot "), "{when}, {words:?}");
    }
}

/// A thread that is killed while it makes its ring leaves it empty, or its first page without its first word, and no
/// calls.
#[test]
fn a_ring_that_was_just_being_made_is_not_damaged() {
    let folder = scratch("damage_making");
    let (from, file) = (folder.join("run"), folder.join("new.cutap"));
    let mut program = under_env(&from, "steady").spawn().unwrap();
    let ring = || from.is_dir() && fs::read_dir(&from).unwrap().flatten().any(|e| e.path().join("t1.ring").exists());
    wait_for("calls", LONG, ring);
    std::thread::sleep(Duration::from_millis(100));
    program.kill().unwrap();
    program.wait().unwrap();
    is_good(&from, "killed");
    let ring = process(&from).join("t1.ring");
    let good = fs::read(&ring).unwrap();
    let finished = [&good[..16], &[1, 0, 0, 0], &good[20..PAGE], &[0; CHUNK]].concat();
    let begun = [&[0; 8], &good[8..16], &[1, 0, 0, 0], &[0; PAGE - 20], &[0; CHUNK]].concat();
    let mut thread = begun.clone();
    thread[PAGE + CHUNK - 1] = 1;
    let made = [
        ("empty", vec![]),
        ("a page", vec![0; PAGE]),
        ("with room for calls", vec![0; PAGE + CHUNK]),
        ("a page without its first word", begun),
        ("a page and no call", finished),
    ];
    for (what, bytes) in made {
        fs::write(&ring, bytes).unwrap();
        is_good(&from, what);
        let _ = fs::remove_file(&file);
        let recovered = run(&["recover"], &[&from, Path::new("-o"), &file]);
        assert!(recovered.status.success(), "{what}: {recovered:?}");
        is_good(&file, what);
    }
    // What has anything behind its first page was more than that.
    for (what, bytes) in [("not a page", vec![0; PAGE - 1]), ("something in it", thread)] {
        fs::write(&ring, bytes).unwrap();
        is_said_alike(&from, &file, what, None, Some("t1.ring (its head is damaged)"));
    }
}

/// Nothing of what a program leaves in any way is damage.
#[test]
fn what_is_killed_or_lives_is_not_damaged() {
    for times in [40, 250, 700, 1300] {
        let folder = scratch(&format!("damage_killed{times}"));
        let (from, file) = (folder.join("run"), folder.join("new.cutap"));
        let mut program = under_env(&from, "steady").spawn().unwrap();
        let ring =
            || from.is_dir() && fs::read_dir(&from).unwrap().flatten().any(|e| e.path().join("t1.ring").exists());
        wait_for("calls", LONG, ring);
        std::thread::sleep(Duration::from_millis(times));
        is_good(&from, "while it runs");
        program.kill().unwrap();
        program.wait().unwrap();
        is_good(&from, "killed");
        let recovered = run(&["recover"], &[&from, Path::new("-o"), &file]);
        assert!(recovered.status.success(), "{recovered:?}");
        is_good(&file, "taken in");
    }
    // A collector takes parts away meanwhile.
    let folder = scratch("damage_drained");
    let (from, file) = (folder.join("run"), folder.join("run.cutap"));
    let mut record = Command::new(cutap());
    record.arg("record").arg("--run-dir").arg(&from).arg("-o").arg(&file).arg(out().join("steady"));
    let mut record = record.env("LD_LIBRARY_PATH", out()).spawn().unwrap();
    let mut looks = 0;
    while record.try_wait().unwrap().is_none() {
        if from.join("control").exists() {
            let read = run(&["report"], &[&from]);
            let none = read.stderr.contains("is not a run directory");
            assert!(none || read.status.success() && !read.stderr.contains("damaged"), "{read:?}");
            looks += u32::from(!none);
        }
    }
    assert!(looks > 2, "{looks}");
    is_good(&from, "drained");
    is_good(&file, "recorded");
}

/// The folder of a process is gone as a whole: a child of it names it.
#[test]
fn a_process_whose_folder_was_removed() {
    let folder = scratch("damage_parent");
    let (from, file, export) = (folder.join("run"), folder.join("new.cutap"), folder.join("exported"));
    assert!(finish(&mut under_env(&from, "fork_after")).status.success());
    let page = |path: &Path| fs::read(path.join("process")).unwrap();
    let parent_of = |path: &Path| {
        let name = &page(path)[std::mem::offset_of!(cutap_wire::process::Process, parent)..][..64];
        let name: Vec<u8> = name.iter().take_while(|b| **b != 0).copied().collect();
        String::from_utf8(name).unwrap()
    };
    let all: Vec<PathBuf> = fs::read_dir(&from).unwrap().flatten().map(|e| e.path()).filter(|p| p.is_dir()).collect();
    let parent = all.iter().map(|path| parent_of(path)).find(|name| !name.is_empty()).expect("a forked child");
    let read = run(&["show"], &[&from]);
    assert!(read.status.success() && read.stderr.is_empty(), "{}", read.stderr);
    fs::rename(from.join(&parent), folder.join(&parent)).unwrap();
    let said = format!("the folder {parent} (it is not there, and p");
    for words in [&["show"][..], &["show", "-c"], &["report"], &["export", "--json"], &["recover"]] {
        let paths: &[&Path] = match words[0] {
            "export" => &[&export, &from],
            "recover" => &[&from, Path::new("-o"), &file],
            _ => &[&from],
        };
        let read = run(words, paths);
        assert_eq!((read.status.code(), read.stderr.matches(&said).count()), (Some(125), 1), "{words:?}: {read:?}");
    }
    let read = run(&["report"], &[&file]);
    assert_eq!((read.status.code(), read.stderr.contains(&said)), (Some(125), true), "{read:?}");
    fs::rename(folder.join(&parent), from.join(&parent)).unwrap();
    assert!(run(&["show"], &[&from]).status.success());
}
