//! What real drivers answered to cuGetProcAddress (`api/driver/answers/`, recorded) is what the registry says
//! (`api/driver/exports.toml`). With CUTAP_LARGE=1 Debian's driver packages are fetched and asked again.

use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Deserialize)]
struct Answers {
    driver: String,
    cuda: u32,
    never: BTreeSet<String>,
    answers: BTreeMap<String, Vec<(u32, String)>>,
}

#[derive(Deserialize)]
struct Exports {
    exports: Vec<Export>,
}

#[derive(Deserialize)]
struct Export {
    name: String,
    base: Option<String>,
    since: Option<u32>,
    form: Option<String>,
}

fn api() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../api/driver")
}

fn read<T: serde::de::DeserializeOwned>(path: &Path) -> T {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    toml::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Differences between a driver and the registry, each a sentence.
fn differences(real: &Answers, ours: &Exports) -> Vec<String> {
    let mut found = Vec::new();
    let known: BTreeMap<&str, &Export> = ours.exports.iter().map(|e| (&*e.name, e)).collect();
    let handed_out = real.answers.values().flatten().map(|(_, name)| name);
    for name in handed_out.chain(&real.never).collect::<BTreeSet<_>>() {
        if !known.contains_key(&**name) {
            found.push(format!("{}: exports {name}, which is not in exports.toml", real.driver));
        }
    }
    for name in &real.never {
        if known.get(&**name).is_some_and(|e| e.base.is_some()) {
            found.push(format!("{}: never hands out {name}", real.driver));
        }
    }
    for (question, steps) in &real.answers {
        let (base, form) = match question.split_once(' ') {
            Some((base, form)) => (base, Some(form)),
            None => (&**question, None),
        };
        // A name that is asked for as it is exported ("cuMemAlloc_v2") is not a base of the registry's.
        if known.get(base).is_some_and(|e| e.base.as_deref() != Some(base)) {
            continue;
        }
        let of_base = ours.exports.iter().filter(|e| e.base.as_deref() == Some(base) && e.form.as_deref() == form);
        let mut expected: Vec<(u32, &str)> =
            of_base.filter_map(|e| Some((e.since?, &*e.name))).filter(|(since, _)| *since <= real.cuda).collect();
        expected.sort_unstable();
        let answered: Vec<(u32, &str)> = steps.iter().map(|(since, name)| (*since, &**name)).collect();
        if expected != answered {
            found.push(format!("{}: {question} is answered by {answered:?}, expected {expected:?}", real.driver));
        }
    }
    found
}

#[test]
fn the_registry_says_what_real_drivers_answer() {
    let ours: Exports = read(&api().join("exports.toml"));
    let mut drivers = 0;
    for entry in std::fs::read_dir(api().join("answers")).unwrap() {
        let real: Answers = read(&entry.unwrap().path());
        assert!(real.answers.len() > 300, "{}: {} answers", real.driver, real.answers.len());
        assert_eq!(differences(&real, &ours), Vec::<String>::new());
        drivers += 1;
    }
    assert!(drivers >= 4, "{drivers} drivers");
}

#[test]
fn a_wrong_version_is_found() {
    let export = |since| Export { name: "cuX_v2".into(), base: Some("cuX".into()), since: Some(since), form: None };
    let real = Answers {
        driver: "1".into(),
        cuda: 12000,
        never: BTreeSet::new(),
        answers: BTreeMap::from([("cuX".into(), vec![(3020, "cuX_v2".into())])]),
    };
    assert_eq!(differences(&real, &Exports { exports: vec![export(3020)] }).len(), 0);
    assert_eq!(differences(&real, &Exports { exports: vec![export(4000)] }).len(), 1);
    assert_eq!(differences(&real, &Exports { exports: Vec::new() }).len(), 2);
}

const PACKAGES: [(&str, &str); 4] = [
    ("470.256.02", "nvidia-graphics-drivers-tesla-470/libnvidia-tesla-470-cuda1_470.256.02-1~deb12u1_amd64.deb"),
    ("535.261.03", "nvidia-graphics-drivers/libcuda1_535.261.03-1_amd64.deb"),
    ("550.163.01", "nvidia-graphics-drivers/libcuda1_550.163.01-2_amd64.deb"),
    ("555.58.02", "nvidia-graphics-drivers/libcuda1_555.58.02-4_amd64.deb"),
];

#[test]
fn debians_drivers_still_answer_so() {
    if std::env::var_os("CUTAP_LARGE").is_none() {
        println!("skipped: Debian's driver libraries are asked again only with --large (four downloads of 3 MB)");
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/gpu/record_driver.py");
    for (version, package) in PACKAGES {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(version);
        let run = |command: &mut Command| {
            let out = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
            assert!(out.status.success(), "{command:?}: {}", String::from_utf8_lossy(&out.stderr));
            out.stdout
        };
        std::fs::create_dir_all(&folder).unwrap();
        let deb = folder.join("driver.deb");
        let url = format!("http://deb.debian.org/debian/pool/non-free/n/{package}");
        run(Command::new("curl").args(["-sfL", "-o"]).arg(&deb).arg(url));
        run(Command::new("dpkg-deb").arg("-x").arg(&deb).arg(&folder));
        let name = format!("libcuda.so.{version}");
        let found = run(Command::new("find").arg(&folder).args(["-type", "f", "-name", &name]));
        let library = PathBuf::from(String::from_utf8(found).unwrap().trim());
        let link = library.with_file_name("libcuda.so.1");
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(&library, &link).unwrap();
        let said = run(Command::new("python3")
            .arg(&script)
            .arg("--answers")
            .env("LD_LIBRARY_PATH", library.parent().unwrap()));
        let recorded = std::fs::read(api().join("answers").join(format!("{version}.toml"))).unwrap();
        assert!(said == recorded, "{version} answers otherwise than api/driver/answers/{version}.toml says");
    }
}
