//! CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER: which devices the driver shows, and in which order. NVML shows all.
//!
//! The rules are those of driver 580 on H100s. `tests/gpu/visible_devices.py` asked it, and a test here compares all
//! answers. One case was not asked: a shortened UUID of several devices, which ends the list as the documentation says.

use crate::variable;

/// Why cuInit fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hidden {
    /// No device is left: NO_DEVICE.
    All,
    /// A device twice, or an order that does not exist: INVALID_DEVICE.
    Wrongly,
}

/// The devices that the driver shows of those with these uuids, by their numbers in NVML. The environment is read at
/// each call.
pub fn visible(uuids: &[[u8; 16]]) -> Result<Vec<i32>, Hidden> {
    let (list, order) = (variable(c"CUDA_VISIBLE_DEVICES"), variable(c"CUDA_DEVICE_ORDER"));
    chosen(list.as_deref(), order.as_deref(), uuids)
}

/// Both orders are the same here, because all devices are equally fast.
fn chosen(list: Option<&str>, order: Option<&str>, uuids: &[[u8; 16]]) -> Result<Vec<i32>, Hidden> {
    if !matches!(order, None | Some("FASTEST_FIRST" | "PCI_BUS_ID")) {
        return Err(Hidden::Wrongly);
    }
    let Some(list) = list else { return Ok((0..uuids.len() as i32).collect()) };
    let mut devices = Vec::new();
    // The first entry decides what all of them are. The first one without a device ends the list.
    let by_uuid = digits_of(list).is_some();
    for entry in list.split(',') {
        let device = if by_uuid { with_uuid(entry, uuids) } else { with_number(entry, uuids.len()) };
        match device {
            Some(device) if devices.contains(&device) => return Err(Hidden::Wrongly),
            Some(device) => devices.push(device),
            None => break,
        }
    }
    if devices.is_empty() { Err(Hidden::All) } else { Ok(devices) }
}

/// As atoi reads it: space, a sign, digits. What follows is ignored, and large numbers lose their upper half.
fn with_number(entry: &str, count: usize) -> Option<i32> {
    let entry = entry.trim_start_matches([' ', '\t', '\n', '\x0b', '\x0c', '\r']);
    let (negative, digits) = match entry.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, entry.strip_prefix('+').unwrap_or(entry)),
    };
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let digits = digits.get(..end).filter(|digits| !digits.is_empty())?;
    let limit = if negative { i64::MIN } else { i64::MAX };
    let number = digits.parse::<i64>().map_or(limit, |number| if negative { -number } else { number }) as i32;
    (0..count as i32).contains(&number).then_some(number)
}

/// What follows the prefix of a UUID.
fn digits_of(entry: &str) -> Option<&str> {
    entry.strip_prefix("GPU-").or(entry.strip_prefix("MIG-"))
}

/// The only device whose UUID begins with these digits. Dashes do not count, and what follows the digits is ignored.
fn with_uuid(entry: &str, uuids: &[[u8; 16]]) -> Option<i32> {
    let digits = digits_of(entry)?.chars().filter(|c| *c != '-').map_while(|c| c.to_digit(16));
    let digits: Vec<u8> = digits.take(32).map(|digit| digit as u8).collect();
    let begins = |uuid: &[u8; 16]| {
        let all = uuid.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        all.zip(&digits).all(|(own, digit)| own == *digit)
    };
    let mut matching = uuids.iter().enumerate().filter(|(_, uuid)| !digits.is_empty() && begins(uuid));
    let (device, _) = matching.next()?;
    if matching.next().is_some() { None } else { Some(device as i32) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::uuid;

    /// The value that a template stands for, as in visible_devices.py.
    fn filled(template: &str, uuids: &[[u8; 16]]) -> String {
        let mut parts = template.split('{');
        let mut value = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (what, rest) = part.split_once('}').expect("a closed template");
            let (which, length) = what.split_once(':').unwrap_or((what, "99"));
            let (kind, device) = which.split_at(1);
            let hex: String =
                uuids[device.parse::<usize>().unwrap()].iter().map(|byte| format!("{byte:02x}")).collect();
            let dashed = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-");
            let text = match kind {
                "u" => dashed,
                "U" => dashed.to_uppercase(),
                "h" => hex,
                _ => panic!("{template}"),
            };
            value.push_str(&text[..text.len().min(length.parse().unwrap())]);
            value.push_str(rest);
        }
        value
    }

    #[test]
    fn answers_of_the_driver() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/gpu/results");
        let mut compared = 0;
        for file in std::fs::read_dir(folder).unwrap().map(|file| file.unwrap()) {
            if !file.file_name().to_string_lossy().starts_with("visible-devices-") {
                continue;
            }
            let text = std::fs::read_to_string(file.path()).unwrap();
            let rows: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            let count = rows[0]["devices"].as_i64().unwrap() as i32;
            let uuids: Vec<_> = (0..count).map(uuid).collect();
            for row in rows.iter().filter(|row| row["when"] == "at_start") {
                let value = row["visible"].as_str().map(|template| filled(template, &uuids));
                let (result, devices) = match chosen(value.as_deref(), row["order"].as_str(), &uuids) {
                    Ok(devices) => (0, devices),
                    Err(Hidden::All) => (100, Vec::new()),
                    Err(Hidden::Wrongly) => (101, Vec::new()),
                };
                assert_eq!(
                    serde_json::json!({"init": row["init"], "devices": row["devices"]}),
                    serde_json::json!({"init": result, "devices": devices}),
                    "{row}"
                );
                compared += 1;
            }
        }
        assert!(compared > 150, "{compared} answers");
    }

    #[test]
    fn devices_have_their_own_uuids_and_places() {
        let uuids: Vec<_> = (0..8).map(uuid).collect();
        for device in 0..8 {
            for digits in [1, 8, 32] {
                let value = format!("GPU-{}", &filled(&format!("{{h{device}}}"), &uuids)[..digits]);
                assert_eq!(chosen(Some(&value), None, &uuids), Ok(vec![device]), "{value}");
            }
            assert!((0..device).all(|other| crate::pci(other) != crate::pci(device)));
        }
        let same = [[7; 16], [7; 16]];
        assert_eq!(chosen(Some("GPU-07"), None, &same), Err(Hidden::All));
    }
}
