//! The file of a recording: cut off, damaged, of another version, packed again. Each command that reads it says the
//! same of it, in one sentence, and none of them changes what it cannot read.

use cutap_e2e::{blocks, cutap, finish, normal_form, out, scratch};
use std::fs;
use std::path::Path;
use std::process::Command;

fn show(file: &Path) -> String {
    finish(Command::new(cutap()).arg("show").arg(file)).everything()
}

#[test]
fn cut_off_and_damaged() {
    let folder = scratch("cut");
    let file = folder.join("run.cutap");
    let mut record = Command::new(cutap());
    // The run outlasts a round of the collector, which writes the page of the run at its beginning and at its end.
    record.arg("record").arg("-o").arg(&file).args(["--", "sh", "-c", "\"$0\"; sleep 0.3"]).arg(out().join("layers"));
    finish(record.env("LD_LIBRARY_PATH", out()));
    let pack = || finish(Command::new(cutap()).arg("pack").arg(&file));
    assert!(pack().status.success());
    let whole = fs::read(&file).unwrap();
    let text = show(&file);
    assert!(!text.contains("cut off") && !text.contains("in order"), "{text}");
    fs::write(&file, &whole[..whole.len() - 3]).unwrap();
    let cut = show(&file);
    assert!(cut.contains("is cut off; what stands before byte"), "{cut}");
    assert_eq!(normal_form(&cut), normal_form(&text));
    // A byte of a chunk, one of names: the head of their block is good, what is in it is not.
    let flipped = |wanted: u8| {
        let mut bytes = whole.clone();
        let (_, at) = blocks(&whole).into_iter().find(|(at, _)| whole[at + 4] == wanted).unwrap();
        bytes[at] ^= 1;
        bytes
    };
    let (chunk, names) = (flipped(6), flipped(4));
    // The page of the run, which stands there again: nothing is missing of it, and it is said all the same.
    let control = flipped(1);
    assert!(blocks(&whole).into_iter().filter(|(at, _)| whole[at + 4] == 1).count() > 1);
    let mut damaged = whole.clone();
    let end = damaged.len() - 30;
    damaged[end] ^= 1;
    fs::write(&file, &damaged).unwrap();
    assert!(show(&file).contains("is damaged at byte"));
    // The same for programs, and by every command that reads.
    for (bytes, state, word) in [
        (&whole[..whole.len() - 3], "cut off", "is cut off; what stands before byte"),
        (&damaged[..], "damaged", "is damaged at byte"),
        (&chunk[..], "damaged", "is damaged: 1 block cannot be read"),
        (&names[..], "damaged", "is damaged: 1 block cannot be read"),
        (&control[..], "damaged", "is damaged: 1 block cannot be read"),
        (&whole[..], "ended", ""),
    ] {
        fs::write(&file, bytes).unwrap();
        let (code, in_blocks) = (if word.is_empty() { 0 } else { 125 }, u64::from(word.contains("1 block")));
        let pack = pack();
        assert_eq!((pack.status.code(), pack.stderr.contains(" is packed: ")), (Some(code), code == 0), "{pack:?}");
        assert!(fs::read(&file).unwrap() == bytes);
        let said = finish(Command::new(cutap()).arg("show").arg(&file));
        assert_eq!(said.status.code(), Some(code), "{word}");
        let all = said.everything();
        assert!(all.matches(word).count() == 1 || code == 0, "{all}");
        assert!(!all.contains("threads were stopped while writing"), "{all}");
        for command in [&["show", "--json"][..], &["report", "--json"], &["report", "--tree", "--json"]] {
            let read = finish(Command::new(cutap()).args(command).arg(&file));
            let end: serde_json::Value = serde_json::from_str(read.stdout.lines().last().unwrap()).unwrap();
            assert_eq!(end["recording"]["state"], state, "{command:?}");
            assert_eq!(end["recording"]["damaged_blocks"], in_blocks, "{command:?}");
            assert_eq!(end["records_cut"], 0, "{command:?}");
            let failed = read.status.code() == Some(code) && read.stderr.contains(word);
            assert!(failed && read.stderr.lines().count() == usize::from(code != 0), "{command:?}: {read:?}");
        }
        let trace = folder.join("trace");
        let export = finish(Command::new(cutap()).args(["export", "--perfetto"]).arg(&trace).arg(&file));
        assert!(export.status.code() == Some(code) && export.stderr.contains(word), "{export:?}");
        assert!(fs::metadata(&trace).unwrap().len() > 0);
    }
    let mut newer = whole;
    newer[8] = 77;
    fs::write(&file, &newer).unwrap();
    for command in ["show", "report"] {
        let refused = finish(Command::new(cutap()).arg(command).arg(&file));
        assert!(refused.stderr.contains("another version") && !refused.status.success(), "{}", refused.stderr);
        assert_eq!(refused.stderr.trim_end().lines().count(), 1, "{}", refused.stderr);
    }
    fs::write(&file, "something else, of no interest").unwrap();
    let refused = finish(Command::new(cutap()).arg("show").arg(&file));
    assert!(refused.stderr.contains("is not a recording of cutap") && !refused.status.success(), "{}", refused.stderr);
}

/// A recording that has ended is packed once more, and says the same before and after.
#[test]
fn packed_at_rest() {
    let folder = scratch("packed");
    let (file, run, loose) = (folder.join("run.cutap"), folder.join("run"), folder.join("loose.cutap"));
    let record = |program: &[&str]| {
        let mut command = Command::new(cutap());
        command.args(["record", "--force", "--run-dir"]).arg(&run).arg("-o").arg(&file).arg("--");
        command.arg(out().join(program[0])).args(&program[1..]);
        let done = finish(command.env("LD_LIBRARY_PATH", out()));
        assert!(done.status.success(), "{}", done.stderr);
    };
    // The kind of packing of each block, by docs/reference/file-format.md.
    let packing = |file: &Path| -> Vec<u8> {
        let bytes = fs::read(file).unwrap();
        blocks(&bytes).iter().map(|(at, _)| bytes[at + 5]).collect()
    };
    // A short one is not worth it.
    record(&["layers"]);
    assert!(packing(&file).contains(&1) && !packing(&file).contains(&2), "{:?}", packing(&file));
    fs::remove_dir_all(&run).unwrap();
    record(&["full_speed", "1000000"]);
    assert!(packing(&file).contains(&2) && !packing(&file).contains(&1), "{:?}", packing(&file));
    // The folder holds no calls any more, and whoever asks it is told why: also where the answer goes to another
    // program.
    let export = folder.join("export");
    for words in
        [&["show"][..], &["report"], &["report", "--tree"], &["export", "--perfetto", export.to_str().unwrap()]]
    {
        let said = finish(Command::new(cutap()).args(words).arg(&run)).everything();
        assert!(said.contains("of the trace not here: a collector has read "), "{words:?}: {said}");
    }
    fs::remove_file(export).unwrap();
    let recovered = finish(Command::new(cutap()).arg("recover").arg(&run).arg("-o").arg(&loose));
    // So a new file has none of them either, and says so.
    let lacks = "of its calls had been read by a collector for its own output";
    assert!(recovered.status.code() == Some(125) && recovered.stderr.contains(lacks), "{}", recovered.stderr);
    assert!(show(&loose).contains(lacks));
    let before = (packing(&loose), show(&loose), fs::metadata(&loose).unwrap().permissions());
    assert!(before.0.contains(&1));
    for _ in 0..2 {
        let packed = finish(Command::new(cutap()).arg("pack").arg(&loose));
        assert!(packed.status.success(), "{}", packed.stderr);
    }
    assert!(!packing(&loose).contains(&1) && packing(&loose).len() == before.0.len());
    assert_eq!((show(&loose), fs::metadata(&loose).unwrap().permissions()), (before.1, before.2));
    // What cannot be packed stays unchanged, with one sentence.
    let cut = folder.join("cut.cutap");
    let whole = fs::read(&loose).unwrap();
    fs::write(&cut, &whole[..whole.len() - 3]).unwrap();
    for (path, said) in
        [(&cut, "it is cut off or damaged"), (&run, "it is not a file"), (&folder.join("no"), "no such file")]
    {
        let refused = finish(Command::new(cutap()).arg("pack").arg(path));
        assert!(!refused.status.success() && refused.stderr.contains(said), "{}", refused.stderr);
    }
    assert_eq!(fs::read(&cut).unwrap().len(), whole.len() - 3);
    let none = finish(Command::new(cutap()).arg("pack").arg(folder.join("no")));
    assert!(none.stderr.ends_with("no: no such file or folder\n"), "{}", none.stderr);
    // Within the file's beginning, and right behind it.
    for (len, code, said) in [(12, 125, "is cut off within its first 24 bytes"), (24, 0, "does not end in order: ")] {
        fs::write(&cut, &whole[..len]).unwrap();
        let shown = finish(Command::new(cutap()).arg("show").arg(&cut));
        assert_eq!((shown.status.code(), shown.stderr.contains(said)), (Some(125), true), "{shown:?}");
        let packed = finish(Command::new(cutap()).arg("pack").arg(&cut));
        let said = if code == 0 { said } else { "it is cut off or damaged" };
        assert_eq!((packed.status.code(), packed.stderr.contains(said)), (Some(code), true), "{packed:?}");
        let taken = finish(Command::new(cutap()).arg("recover").arg(&run).arg("-o").arg(&cut));
        assert!(code == 0 || taken.stderr.contains("is cut off within its first 24 bytes"), "{taken:?}");
    }
    // A block that is damaged within, while it is not packed yet.
    fs::remove_file(&loose).unwrap();
    let recovered = finish(Command::new(cutap()).arg("recover").arg(&run).arg("-o").arg(&loose));
    assert_eq!(recovered.status.code(), Some(125), "{}", recovered.stderr);
    let mut damaged = fs::read(&loose).unwrap();
    let (_, at) = blocks(&damaged).into_iter().find(|(at, _)| damaged[at + 5] == 1).unwrap();
    damaged[at] ^= 1;
    fs::write(&loose, &damaged).unwrap();
    let refused = finish(Command::new(cutap()).arg("pack").arg(&loose));
    assert!(refused.status.code() == Some(125) && refused.stderr.contains("a block in it is damaged"), "{refused:?}");
    assert!(fs::read(&loose).unwrap() == damaged);
    assert_eq!(fs::read_dir(&*folder).unwrap().count(), 4, "nothing is left beside the files");
}
