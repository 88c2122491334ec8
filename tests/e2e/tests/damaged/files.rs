//! Files of a run directory other than its rings, damaged or gone: pages of processes, names, the control page. Whoever
//! reads the folder and whoever takes it into a file says the same.

use super::*;

/// Says 125 and this, whoever reads the folder and whoever takes it into a file, and as many lines of calls are in
/// both.
fn says_of_file(from: &Path, file: &Path, what: &str, said: &str) -> (Finished, Finished) {
    let _ = fs::remove_file(file);
    let export = from.with_extension("exported");
    for words in [&["report"][..], &["show", "-c"], &["export", "--json"], &["recover"]] {
        let paths: &[&Path] = match words[0] {
            "export" => &[&export, from],
            "recover" => &[from, Path::new("-o"), file],
            _ => &[from],
        };
        let read = run(words, paths);
        assert_eq!(
            (read.status.code(), read.stderr.matches(said).count()),
            (Some(125), 1),
            "{what}, {words:?}: {read:?}"
        );
        assert!(!read.stderr.contains("of its calls"), "{what}, {words:?}: {}", read.stderr);
    }
    let (of_folder, of_file) = (run(&["show"], &[from]), run(&["show"], &[file]));
    assert_eq!((of_folder.status.code(), of_file.status.code()), (Some(125), Some(125)), "{what}: {of_file:?}");
    assert!(of_file.stderr.contains(said) && !of_file.stderr.contains("of its calls"), "{what}: {}", of_file.stderr);
    let calls = |read: &Finished| read.stdout.lines().filter(|line| line.contains('(')).count();
    assert_eq!(calls(&of_folder), calls(&of_file), "{what}");
    (of_folder, of_file)
}

/// Of a process whose page is cut short nothing is read, by nobody.
#[test]
fn a_page_of_a_process_that_is_cut_short() {
    let folder = scratch("damage_page");
    let (from, file) = (folder.join("run"), folder.join("new.cutap"));
    assert!(finish(&mut under_env(&from, "layers")).status.success());
    let page = process(&from).join("process");
    let good = fs::read(&page).unwrap();
    for length in [0, 12, 62, 63, 100, 1000, 4095] {
        fs::write(&page, &good[..length]).unwrap();
        let said = "/process (it is damaged or not there, so nothing of this process can be read)";
        let (shown, taken) = says_of_file(&from, &file, &format!("{length} bytes"), said);
        assert!(!shown.stdout.contains("cuInit") && !taken.stdout.contains("cuInit"), "{length} bytes");
    }
}

/// Zeros from the middle of a name on take the names behind it, too: calls of those are shown.
#[test]
fn names_that_end_within_one() {
    let folder = scratch("damage_half_names");
    let (from, file) = (folder.join("run"), folder.join("new.cutap"));
    assert!(finish(&mut under_env(&from, "layers")).status.success());
    let names = process(&from).join("names");
    let good = fs::read(&names).unwrap();
    let at = good.windows(10).position(|w| w == b"cudaMalloc").expect("a name") + 3;
    for at in [at, at.next_multiple_of(64) + 41, at.next_multiple_of(64) + 48, at.next_multiple_of(64) + 51] {
        let mut bytes = good.clone();
        bytes[at..].fill(0);
        fs::write(&names, bytes).unwrap();
        let said = "/names (it is damaged, so functions may have no names)";
        let (shown, taken) = says_of_file(&from, &file, &format!("zeros from {at}"), said);
        let nameless = |read: &Finished| read.stdout.matches("slot ").count();
        assert!(nameless(&shown) > 0 && nameless(&shown) == nameless(&taken), "zeros from {at}: {shown:?}");
    }
}

/// A page that counts fewer rings than there are: those beyond are not read, which is said if they have calls.
#[test]
fn a_page_that_counts_too_few_rings() {
    let folder = scratch("damage_count");
    let (from, file) = (folder.join("run"), folder.join("new.cutap"));
    assert!(finish(&mut under_env(&from, "steady")).status.success());
    let (page, ring) = (process(&from).join("process"), process(&from).join("t2.ring"));
    let (good, whole) = (fs::read(&page).unwrap(), fs::read(&ring).unwrap());
    assert_eq!(good[56..60], [3, 0, 0, 0], "rings are counted where this test takes them to be");
    for count in [0, 1, 2] {
        fs::write(&page, [&good[..56], &[count], &good[57..]].concat()).unwrap();
        let said = format!(
            "/process (it is damaged: it counts {count} rings, so that t{count}.ring, which has calls, is not read)"
        );
        says_of_file(&from, &file, &format!("{count} counted"), &said);
    }
    // A thread that was killed before it counted its ring has made no call.
    fs::write(&ring, [&whole[..16], &[1, 0, 0, 0], &whole[20..PAGE], &[0; CHUNK]].concat()).unwrap();
    is_good(&from, "made and not counted");
    let _ = fs::remove_file(&file);
    assert!(run(&["recover"], &[&from, Path::new("-o"), &file]).status.success());
}

/// A thread that is killed when it has taken a ring's number leaves no file; one that was there and is removed is
/// missed.
#[test]
fn a_ring_whose_number_was_taken_and_that_was_never_made() {
    let folder = scratch("damage_number");
    let (from, file) = (folder.join("run"), folder.join("new.cutap"));
    assert!(finish(&mut under_env(&from, "steady")).status.success());
    let page = process(&from).join("process");
    let good = fs::read(&page).unwrap();
    let finished = std::mem::offset_of!(cutap_wire::process::Process, finished);
    let counts = (&good[56..60], &good[finished..][..4]);
    assert_eq!(counts, (&[3, 0, 0, 0][..], &[3, 0, 0, 0][..]), "three made and finished");
    fs::write(&page, [&good[..56], &[5], &good[57..]].concat()).unwrap();
    is_good(&from, "two numbers without a ring");
    assert!(run(&["recover"], &[&from, Path::new("-o"), &file]).status.success());
    fs::remove_file(process(&from).join("t1.ring")).unwrap();
    says_of_file(&from, &file, "one removed", "/t1.ring (it is not there or cannot be opened)");
}

/// Without its control page a flight recorder's folder does not tell why parts are missing: it is said alike of the
/// folder and of its file, and not taken for what a collector has.
#[test]
fn a_flight_recorder_without_its_control_page() {
    let folder = scratch("damage_flight");
    let (from, file) = (folder.join("run"), folder.join("new.cutap"));
    let script = r#"set -e; eval "$("$0" env --flight-recorder 256K -o "$1")"; exec "$2""#;
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).arg(cutap()).arg(&from).arg(out().join("steady")).env("LD_LIBRARY_PATH", out());
    assert!(finish(&mut shell).status.success());
    fs::remove_file(from.join("control")).unwrap();
    let recovered = run(&["recover"], &[&from, Path::new("-o"), &file]);
    assert!(recovered.status.success(), "{recovered:?}");
    for path in [&from, &file] {
        for words in [&["show"][..], &["report"]] {
            let read = run(words, &[path]);
            assert!(read.status.success() && !both(&read).contains("a collector"), "{words:?}: {}", read.stderr);
            assert!(
                both(&read).contains(" of the trace not here: nobody knows whether "),
                "{words:?}: {}",
                read.stderr
            );
        }
        is_good(path, "without a control page");
    }
}
