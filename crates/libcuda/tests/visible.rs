//! CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER: the answers of the real driver, which `tests/gpu/visible_devices.py` has
//! recorded. The program finds both libraries by their names without a version.

mod common;

use common::{on_sim, program, root, succeed};
use std::path::Path;

/// The value that a template stands for, as in visible_devices.py.
fn filled(template: &str, uuids: &[String]) -> String {
    let mut parts = template.split('{');
    let mut value = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (what, rest) = part.split_once('}').expect("a closed template");
        let (which, length) = what.split_once(':').unwrap_or((what, "99"));
        let (kind, device) = which.split_at(1);
        let uuid = &uuids[device.parse::<usize>().expect("a number")];
        let text = match kind {
            "u" => uuid.clone(),
            "U" => uuid.to_uppercase(),
            _ => uuid.replace('-', ""),
        };
        value.push_str(&text[..text.len().min(length.parse().expect("a length"))]);
        value.push_str(rest);
    }
    value
}

#[test]
fn answers_of_the_driver() {
    let program = program("visible", "plain", &[]);
    let folder = root().join("tests/gpu/results");
    let mut compared = 0;
    for file in std::fs::read_dir(folder).expect("the results").map(|file| file.expect("a file").path()) {
        if !file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("visible-devices-")) {
            continue;
        }
        let text = std::fs::read_to_string(&file).expect("text");
        let rows: Vec<serde_json::Value> = text.lines().map(|l| serde_json::from_str(l).expect("JSON")).collect();
        let asked = |word: &str, visible: Option<&str>, order: Option<&str>| {
            let mut command = on_sim(Path::new(&program));
            command.arg(word).env("CUTAP_SIM_DEVICES", rows[0]["devices"].to_string()).env_remove("CUTAP_SIM_REPORT");
            for (name, value) in [("CUDA_VISIBLE_DEVICES", visible), ("CUDA_DEVICE_ORDER", order)] {
                match value {
                    Some(value) => command.env(name, value),
                    None => command.env_remove(name),
                };
            }
            String::from_utf8(succeed(&mut command).stdout).expect("text")
        };
        let uuids: Vec<String> = asked("uuids", Some("-1"), None).lines().map(str::to_owned).collect();
        for row in rows.iter().filter(|row| row["when"].is_string()) {
            let visible = row["visible"].as_str().map(|template| filled(template, &uuids));
            let said = asked(row["when"].as_str().expect("a word"), visible.as_deref(), row["order"].as_str());
            let [init, again, count, end, devices] =
                ["init", "init_again", "count", "past_end", "devices"].map(|name| row[name].to_string());
            assert_eq!(said, format!("{init} {again} {count} {end} {devices}\n"), "{row}");
            compared += 1;
        }
    }
    assert!(compared > 150, "{compared} answers");
}
