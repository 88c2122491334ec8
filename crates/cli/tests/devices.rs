//! `cutap devices` through the real binary: one sentence without a driver, GPUs with one.

mod support;

use support::{cutap, err, out};

#[test]
fn without_a_driver_one_sentence() {
    // A node may be there without a driver.
    let node = std::fs::File::options().read(true).write(true).open("/dev/nvidiactl");
    let why = match node.map_err(|why| why.raw_os_error()) {
        Err(Some(2)) => "is missing; ",
        Err(Some(6 | 19)) => "exists, but no driver serves it; ",
        _ => {
            eprintln!("skipped: without_a_driver_one_sentence (this machine has an NVIDIA driver)");
            return;
        }
    };
    for args in [&["devices"][..], &["devices", "--json"]] {
        let done = cutap(args).output().unwrap();
        let message = err(&done);
        assert_eq!((done.status.code(), out(&done).as_str()), (Some(125), ""));
        assert!(message.starts_with(&format!("cutap: no NVIDIA kernel driver: /dev/nvidiactl {why}")), "{message}");
        assert_eq!(message.lines().count(), 1);
    }
}

#[test]
fn gpus_of_a_driver() {
    if std::fs::File::options().read(true).write(true).open("/dev/nvidiactl").is_err() {
        eprintln!("skipped: gpus_of_a_driver (this machine has no NVIDIA driver that may be opened)");
        return;
    }
    let done = cutap(&["devices", "--json"]).output().unwrap();
    let found: serde_json::Value = serde_json::from_str(&out(&done)).unwrap();
    assert!(found["driver"].is_string() && found["gpus"][0]["uuid"].is_string(), "{found}");
    assert!(found["gpus"][0]["sms"].as_u64() > Some(0), "{found}");
}
