//! Numbers for people.

use std::fmt::Write;

/// `1.2us`, `14ms`, `3s`: up to three significant digits.
pub fn time(ns: u64) -> String {
    let (unit, size) = match ns {
        0..1_000 => return format!("{ns}ns"),
        1_000..999_500 => ("us", 1e3),
        999_500..999_500_000 => ("ms", 1e6),
        _ => ("s", 1e9),
    };
    let value = ns as f64 / size;
    let digits = match value {
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    let text = format!("{value:.digits$}");
    let text = if digits > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{unit}")
}

/// `4 KiB`, `1.5 GiB`, `100 B`: as much as one can read; not exact for odd sizes.
pub fn bytes(n: u64) -> String {
    let (unit, size) = match n {
        0..1_024 => return format!("{n} B"),
        1_024..1_048_576 => ("KiB", 1u64 << 10),
        1_048_576..1_073_741_824 => ("MiB", 1 << 20),
        1_073_741_824..1_099_511_627_776 => ("GiB", 1 << 30),
        _ => ("TiB", 1 << 40),
    };
    if n.is_multiple_of(size) {
        return format!("{} {unit}", n / size);
    }
    format!("{:.1} {unit}", n as f64 / size as f64)
}

/// The same without losing any: in the largest unit that it is a multiple of.
pub fn exactly(n: u64) -> String {
    const UNITS: [(&str, u64); 4] = [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    let whole = UNITS.iter().find(|(_, size)| n > 0 && n.is_multiple_of(*size));
    whole.map_or_else(|| format!("{n} B"), |(unit, size)| format!("{} {unit}", n / size))
}

/// Below this a word is more likely a number than an address.
const NUMBERS: u64 = 1 << 21;

/// An argument word.
pub fn word(value: u64, to: &mut String) {
    // Writing to a string does not fail.
    let _ = if value < NUMBERS { write!(to, "{value}") } else { write!(to, "{value:#x}") };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (n, text) in [
            (0, "0 B"),
            (1_023, "1023 B"),
            (4_096, "4 KiB"),
            (2 << 20, "2 MiB"),
            (1_536, "1.5 KiB"),
            (3 << 30, "3 GiB"),
            (u64::MAX, "16777216.0 TiB"),
        ] {
            assert_eq!(bytes(n), text, "{n}");
        }
    }

    #[test]
    fn exact_sizes() {
        let of = [0, 1_025, 1_536, 4_096, 5 << 19, 3 << 30, 1 << 40, u64::MAX];
        let all = ["0 B", "1025 B", "1536 B", "4 KiB", "2560 KiB", "3 GiB", "1 TiB", "18446744073709551615 B"];
        assert_eq!(of.map(exactly), all);
    }

    #[test]
    fn times() {
        for (ns, text) in [
            (0, "0ns"),
            (999, "999ns"),
            (1_000, "1us"),
            (1_200, "1.2us"),
            (1_234, "1.23us"),
            (9_996, "10us"),
            (14_000, "14us"),
            (14_260, "14.3us"),
            (999_499, "999us"),
            (999_500, "1ms"),
            (1_240_000, "1.24ms"),
            (999_499_999, "999ms"),
            (999_999_999, "1s"),
            (61_000_000_000, "61s"),
            (3_600_000_000_000, "3600s"),
        ] {
            assert_eq!(time(ns), text, "{ns}");
        }
    }
}
