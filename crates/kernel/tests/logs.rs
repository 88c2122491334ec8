//! Real logs through the readers and the decoder.

use cutap_kernel::census::Census;
use cutap_kernel::decode::Decoder;
use cutap_kernel::nvproxy::Nvproxy;
use cutap_kernel::show::text::{Style, Text};
use cutap_kernel::{Action, Run, formats, json, show};
use std::path::{Path, PathBuf};

fn transcript(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../rm/tests/transcripts/{name}.txt"))
}

fn lines(run: &Run, style: Style) -> String {
    let decoder = Decoder::new(Some("580.159.04"), run).unwrap();
    let mut text = Text::new(style);
    run.calls.iter().map(|call| text.line(call, &decoder)).collect()
}

#[test]
fn a_transcript_as_text() {
    let run = formats::read_file(&transcript("vecadd")).unwrap();
    assert_eq!((run.calls.len(), run.skipped_count), (466, 0));
    let text = lines(&run, Style::default());
    let all: Vec<&str> = text.lines().collect();
    assert_eq!(all.len(), 466);
    assert_eq!(all[0], "nvidiactl NV_ESC_SYS_PARAMS {memblock_size: 1073741824} = 0");
    assert_eq!(
        all[2],
        "nvidiactl NV_ESC_RM_ALLOC NV01_ROOT {hObjectNew: 0x0 -> 0xc1d00022, hClass: 0x0 -> 0x41} = 0, NV_OK"
    );
    let version = "pDriverVersionBuffer: 0x7ffdf806dde0 \"580.159.04\"";
    assert!(all[3].contains(version), "{}", all[3]);
    assert!(lines(&run, Style { verbose: true, ..Style::default() }).len() > text.len());
    let hex = lines(&run, Style { hex: true, ..Style::default() });
    assert!(hex.contains("    argument at 0x0, 8 bytes, before -> after\n      0000  0000004000000000\n"), "{hex}");
}

/// The JSON of a run gives the same run, also with the decoded fields beside each call.
#[test]
fn json_there_and_back() {
    for name in ["vecadd", "more", "pytorch"] {
        let run = formats::read_file(&transcript(name)).unwrap();
        let decoder = Decoder::new(Some("580.159.04"), &run).unwrap();
        let (mut plain, mut decoded) = (Vec::new(), Vec::new());
        json::write_head(&run.head, &mut plain).unwrap();
        json::write_head(&run.head, &mut decoded).unwrap();
        for call in &run.calls {
            json::write_call(call, &mut plain).unwrap();
            decoded.extend(show::json::line(call, &decoder).into_bytes());
            decoded.push(b'\n');
        }
        for text in [plain, decoded] {
            let again = formats::read(&String::from_utf8(text).unwrap()).unwrap();
            assert_eq!(again.skipped, Vec::<String>::new());
            assert_eq!(again.calls, run.calls);
        }
    }
}

#[test]
fn json_has_decoded_fields() {
    let run = formats::read_file(&transcript("vecadd")).unwrap();
    let decoder = Decoder::new(Some("580.159.04"), &run).unwrap();
    let value: serde_json::Value = serde_json::from_str(&show::json::line(&run.calls[2], &decoder)).unwrap();
    let decoded = &value["decoded"];
    assert_eq!(decoded["name"], "NV_ESC_RM_ALLOC");
    assert_eq!(decoded["fields"]["hObjectNew"]["after"], "0xc1d00022");
    assert_eq!(decoded["statuses"][1]["name"], "NV_OK");
}

/// The listing of the cudest proof, where this machine has it.
#[test]
fn the_listing_of_the_proof() {
    let path = Path::new("/work/shared/proof/cudest/truth/ioctls.txt");
    if !path.exists() {
        println!("skipped: the listing of the cudest proof (it is not in the repository)");
        return;
    }
    let run = formats::read_file(path).unwrap();
    let ioctls = run.calls.iter().filter(|c| matches!(c.action, Action::Ioctl(_))).count();
    assert_eq!((ioctls, run.skipped.clone()), (466, Vec::new()), "{:?}", run.skipped);
    let text = lines(&run, Style::default());
    assert!(text.contains("NV2080_CTRL_CMD_GPU_GET_GID_INFO {hObject: "), "{text}");
    assert!(text.contains("HOPPER_CHANNEL_GPFIFO_A {"));
    assert!(!text.contains("further bytes"), "{text}");
}

/// Lines that are cut off at any byte are read or counted; nothing panics.
#[test]
fn truncated_logs() {
    for name in ["vecadd", "more"] {
        let text = std::fs::read_to_string(transcript(name)).unwrap();
        for end in (0..text.len().min(20_000)).step_by(97) {
            if let Ok(run) = formats::read(&text[..end]) {
                lines(&run, Style { verbose: true, hex: true, ..Style::default() });
            }
        }
    }
}

/// A log of ioctls has no times and no files: the tables have a sentence instead of zeros.
#[test]
fn a_census_of_ioctls_alone() {
    let run = formats::read_file(&transcript("vecadd")).unwrap();
    let decoder = Decoder::new(Some("580.159.04"), &run).unwrap();
    let mut census = Census::default();
    census.add(&run, &decoder);
    let text = census.text();
    assert!(text.contains("     191       0           -                  0x2a  NV_ESC_RM_CONTROL\n"), "{text}");
    assert!(text.contains("\nno times: the input has none; cutap record -e syscall PROG keeps them\n"), "{text}");
    let list = census.allow_list(Nvproxy::of(decoder.driver()));
    assert!(list.contains("[modeset commands]\n# none in these runs\n"), "{list}");
    assert!(list.contains("[files]\n# not known: the input has no call that opens a file; "), "{list}");
}

/// Each mapping and each object is looked up in a log of forty thousand. Quadratic, this took a minute.
#[test]
fn a_log_of_many_mappings() {
    let mut log = String::from("1 openat(AT_FDCWD, \"/dev/nvidiactl\", 0x2) = 3\n");
    for n in 0..40_000_u64 {
        let at = 0x7000_0000_0000 + n * 0x2000;
        log += &format!("1 mmap(NULL, 4096, 0x3, 0x1, 3, 0) = {at:#x}\n");
    }
    for n in 0..40_000_u64 {
        log += &format!("1 munmap({:#x}, 4096) = 0\n", 0x7000_0000_0000 + n * 0x2000);
    }
    let (begun, run) = (std::time::Instant::now(), cutap_kernel::formats::read(&log).unwrap());
    assert_eq!(run.calls.len(), 80_001);
    let decoder = cutap_kernel::decode::Decoder::new(None, &run).unwrap();
    let text = cutap_kernel::maps::text(&cutap_kernel::objects::Objects::of(&run, &decoder));
    assert_eq!(text.lines().filter(|line| line.ends_with("  unmapped")).count(), 40_000);
    assert!(begun.elapsed() < std::time::Duration::from_secs(60), "{:?}", begun.elapsed());
}
