//! Numbers, sizes and times as people write them: in filters, flags and environment variables.
//!
//! A number is decimal or hexadecimal (`4096`, `-1.5`, `1e6`, `0x1000`). A size is a number with or without a unit of
//! bytes. A time is a number of seconds, or a number with a unit of time.

/// Units of bytes: powers of 1000 end with `B`, powers of 1024 with `iB`, or are a letter.
const BYTE_UNITS: [(&str, u64); 19] = [
    ("B", 1),
    ("K", 1 << 10),
    ("M", 1 << 20),
    ("G", 1 << 30),
    ("T", 1 << 40),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("PiB", 1 << 50),
    ("EiB", 1 << 60),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("PB", 1_000_000_000_000_000),
    ("EB", 1_000_000_000_000_000_000),
    ("P", 1 << 50),
    ("E", 1 << 60),
];

/// Units of time, in nanoseconds.
const TIME_UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// A number, also with a unit of bytes: `4096`, `0x1000`, `-1`, `1.5GiB`. `None` if it is none, or has another unit.
pub fn number(text: &str) -> Option<f64> {
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok().map(|n| n as f64);
    }
    plain(text).or_else(|| {
        let (digits, unit) = split(text);
        Some(plain(digits)? * byte_unit(unit)? as f64)
    })
}

/// A number of bytes: `4096`, `64K`, `80GiB`, `1.5 MB`. `None` if it is none, or too large for 64 bits.
pub fn bytes(text: &str) -> Option<u64> {
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok();
    }
    let (digits, unit) = split(text);
    times(digits, if unit.is_empty() { 1 } else { byte_unit(unit)? })
}

/// Nanoseconds of a time: `2`, `0.5` (seconds), `500ms`, `10us`, `5m`, `1h`. `None` if it is none. A time that is too
/// long for 64 bits is the longest.
pub fn nanoseconds(text: &str) -> Option<u64> {
    let (digits, unit) = split(text);
    let unit = if unit.is_empty() { "s" } else { unit };
    let unit = TIME_UNITS.iter().find(|(name, _)| *name == unit)?.1;
    times(digits, unit).or_else(|| plain(digits).filter(|n| *n > 0.0).map(|_| u64::MAX))
}

/// A number, and the letters behind it.
fn split(text: &str) -> (&str, &str) {
    let letters = text.trim_end_matches(|c: char| c.is_alphabetic() || c == 'µ').len();
    (text[..letters].trim_end(), &text[letters..])
}

/// Bytes of a unit; the case of its letters does not matter.
fn byte_unit(unit: &str) -> Option<u64> {
    BYTE_UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).map(|(_, bytes)| *bytes)
}

/// A decimal number without a unit.
fn plain(text: &str) -> Option<f64> {
    let is_plain = text.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b));
    text.parse().ok().filter(|_| is_plain)
}

/// A number that is not negative times a unit. Whole numbers are exact.
fn times(digits: &str, unit: u64) -> Option<u64> {
    if digits.bytes().all(|b| b.is_ascii_digit()) {
        return digits.parse::<u64>().ok()?.checked_mul(unit);
    }
    let product = (plain(digits)? * unit as f64).round();
    (0.0..u64::MAX as f64).contains(&product).then_some(product as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        for (text, n) in [
            ("4096", Some(4096.0)),
            ("0x10", Some(16.0)),
            ("-1", Some(-1.0)),
            ("1e6", Some(1e6)),
            ("1.5GiB", Some(1.5 * 1073741824.0)),
            ("4 KiB", Some(4096.0)),
            ("12B", Some(12.0)),
            ("2MB", Some(2e6)),
            ("1M", Some(1048576.0)),
            ("1.5K", Some(1536.0)),
            ("2g", Some(2147483648.0)),
            ("1.5kB", Some(1500.0)),
            ("1PiB", Some(1125899906842624.0)),
            ("NULL", None),
            ("inf", None),
            ("GiB", None),
            ("", None),
        ] {
            assert_eq!(number(text), n, "{text}");
        }
    }

    #[test]
    fn sizes() {
        for (text, n) in [
            ("64K", Some(65536)),
            ("4MiB", Some(4 << 20)),
            ("4MB", Some(4_000_000)),
            ("80 GiB", Some(80 << 30)),
            ("1.5K", Some(1536)),
            ("512m", Some(512 << 20)),
            ("0x1000", Some(4096)),
            ("18446744073709551615", Some(u64::MAX)),
            ("99999999999T", None),
            ("-1", None),
            ("4X", None),
            ("M", None),
            ("", None),
        ] {
            assert_eq!(bytes(text), n, "{text}");
        }
    }

    #[test]
    fn times_are_in_seconds_or_have_a_unit() {
        for (text, ns) in [
            ("2", Some(2_000_000_000)),
            ("0.5", Some(500_000_000)),
            ("0.5s", Some(500_000_000)),
            ("500ms", Some(500_000_000)),
            ("10 µs", Some(10_000)),
            ("1000us", Some(1_000_000)),
            ("5m", Some(300_000_000_000)),
            ("1h", Some(3_600_000_000_000)),
            ("1e3", Some(1_000_000_000_000)),
            ("", None),
            ("ms", None),
            ("99999999999999999999s", Some(u64::MAX)),
            ("1day", None),
            ("-1", None),
            ("NaN", None),
        ] {
            assert_eq!(nanoseconds(text), ns, "{text}");
        }
    }
}
