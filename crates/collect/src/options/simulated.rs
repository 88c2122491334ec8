//! Checks the environment variables of the simulated machine before a program starts on it: an unknown word is refused.
//! The driver alone, without cutap, reports it and continues.

use crate::base::error::{Error, Result};
use cutap_quantity::{bytes, number};

/// Names, the least and the most that they may be, and what they are.
const NUMBERS: [(&str, u64, u64, &str); 3] = [
    ("CUTAP_SIM_DEVICES", 1, 8, "the number of simulated devices"),
    ("CUTAP_SIM_DRIVER", 2000, 99_999, "a version of CUDA, such as 13050"),
    ("CUTAP_SIM_MEMORY", 1, u64::MAX, "the memory of a simulated device, in bytes or as 80GiB"),
];

/// Refuses what the simulated driver would not understand.
pub fn check() -> Result<()> {
    for (name, least, most, what) in NUMBERS {
        if let Some(value) = std::env::var_os(name) {
            let value = value.to_string_lossy();
            if let Some(why) = refusal(&value, least, most) {
                return Err(Error::own(format!("{name}={value} {why}; it is {what}, {least} to {most}")));
            }
        }
    }
    Ok(())
}

fn refusal(value: &str, least: u64, most: u64) -> Option<&'static str> {
    match bytes(value.trim()) {
        Some(n) if (least..=most).contains(&n) => None,
        _ if number(value.trim()).is_some_and(|n| n >= 0.0) => Some("is out of range"),
        _ => Some("is no number"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_their_range() {
        for (value, why) in [
            ("1", None),
            (" 8 ", None),
            ("99999999999G", Some("is out of range")),
            ("0", Some("is out of range")),
            ("9", Some("is out of range")),
            ("abc", Some("is no number")),
            ("", Some("is no number")),
            ("-1", Some("is no number")),
        ] {
            assert_eq!(refusal(value, 1, 8), why, "{value}");
        }
    }
}
