//! Numbers for people: durations, sizes, words.

/// `1.2us`, `14ms`, `3s`: up to three significant digits.
pub fn time(ns: u64) -> String {
    let mut text = String::new();
    write_time(ns, &mut text);
    text
}

/// Writes [`time`] to a line. Halves round as the binary number does, which is computed for them only.
pub fn write_time(ns: u64, to: &mut String) {
    let (unit, size) = match ns {
        0..1_000 => {
            decimal(ns, to);
            return to.push_str("ns");
        }
        1_000..999_500 => ("us", 1_000),
        999_500..999_500_000 => ("ms", 1_000_000),
        _ => ("s", 1_000_000_000),
    };
    let digits = match ns as f64 / size as f64 {
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    let last = size / [1, 10, 100][digits];
    let (mut shown, left) = (ns / last, ns % last);
    if left * 2 == last {
        let text = format!("{:.digits$}", ns as f64 / size as f64);
        let text = if digits > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
        to.push_str(text);
        return to.push_str(unit);
    }
    shown += u64::from(left * 2 > last);
    let (whole, part) = (shown / [1, 10, 100][digits], shown % [1, 10, 100][digits]);
    decimal(whole, to);
    if part > 0 {
        to.push('.');
        let tens = if digits == 2 { part / 10 } else { part };
        to.push((b'0' + tens as u8) as char);
        if digits == 2 && part % 10 > 0 {
            to.push((b'0' + (part % 10) as u8) as char);
        }
    }
    to.push_str(unit);
}

/// Writes `n` as `format!` does, several times faster.
pub fn decimal(n: u64, to: &mut String) {
    to.push_str(itoa::Buffer::new().format(n));
}

/// `0x1f`.
pub fn hex(n: u64, to: &mut String) {
    to.push_str(Hex::of(n).text());
}

/// The text `0x1f`, without an allocation.
pub struct Hex {
    text: [u8; 18],
    from: usize,
}

impl Hex {
    /// The text of this number.
    pub fn of(mut n: u64) -> Hex {
        let (mut text, mut from) = ([0; 18], 18);
        loop {
            from -= 1;
            text[from] = b"0123456789abcdef"[(n & 15) as usize];
            n >>= 4;
            if n == 0 {
                break;
            }
        }
        from -= 2;
        text[from..from + 2].copy_from_slice(b"0x");
        Hex { text, from }
    }

    /// The text.
    pub fn text(&self) -> &str {
        str::from_utf8(self.bytes()).unwrap_or_default()
    }

    /// The same as bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.text[self.from..]
    }
}

const PIB: u64 = 1 << 50;
const EIB: u64 = 1 << 60;

/// `4 KiB`, `1.5 GiB`, `100 B`: rounded to a readable number.
pub fn bytes(n: u64) -> String {
    let (unit, size) = match n {
        0..1_024 => return format!("{n} B"),
        1_024..1_048_576 => ("KiB", 1u64 << 10),
        1_048_576..1_073_741_824 => ("MiB", 1 << 20),
        1_073_741_824..1_099_511_627_776 => ("GiB", 1 << 30),
        1_099_511_627_776..PIB => ("TiB", 1 << 40),
        PIB..EIB => ("PiB", PIB),
        _ => ("EiB", EIB),
    };
    if n.is_multiple_of(size) {
        return format!("{} {unit}", n / size);
    }
    format!("{:.1} {unit}", n as f64 / size as f64)
}

/// The exact size, in the largest unit that divides it. A size beyond any machine is `about 16 EiB`.
pub fn exactly(n: u64) -> String {
    let mut text = String::new();
    write_exactly(n, &mut text);
    text
}

/// Writes [`exactly`] to a line.
pub fn write_exactly(n: u64, to: &mut String) {
    const UNITS: [(&str, u64); 6] =
        [(" EiB", EIB), (" PiB", PIB), (" TiB", 1 << 40), (" GiB", 1 << 30), (" MiB", 1 << 20), (" KiB", 1 << 10)];
    if n >= PIB && !n.is_multiple_of(1 << 40) {
        let (unit, size) = if n >= EIB { UNITS[0] } else { UNITS[1] };
        to.push_str("about ");
        decimal((n as f64 / size as f64).round() as u64, to);
        to.push_str(unit);
        return;
    }
    let whole = UNITS.iter().find(|(_, size)| n > 0 && n.is_multiple_of(*size));
    let (unit, size) = whole.unwrap_or(&(" B", 1));
    decimal(n / size, to);
    to.push_str(unit);
}

/// A smaller word is more likely a number than an address.
const NUMBERS: u64 = 1 << 21;

/// An argument word.
pub fn word(value: u64, to: &mut String) {
    if value < NUMBERS { decimal(value, to) } else { hex(value, to) }
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
            (5 << 50, "5 PiB"),
            (u64::MAX, "16.0 EiB"),
        ] {
            assert_eq!(bytes(n), text, "{n}");
        }
    }

    #[test]
    fn exact_sizes() {
        let of = [0, 1_025, 1_536, 4_096, 5 << 19, 3 << 30, 1 << 40, (1 << 50) - 1, 1 << 60];
        let all = ["0 B", "1025 B", "1536 B", "4 KiB", "2560 KiB", "3 GiB", "1 TiB", "1125899906842623 B", "1 EiB"];
        assert_eq!(of.map(exactly), all);
        let of = [(1 << 50) + 1, 1025 << 40, (1 << 60) - 4096, u64::MAX];
        assert_eq!(of.map(exactly), ["about 1 PiB", "1025 TiB", "about 1024 PiB", "about 16 EiB"]);
    }

    #[test]
    fn numbers_as_they_are_formatted() {
        let mut n = 1u64;
        for step in 0..200_000u64 {
            n = n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(step);
            let n = n >> (step % 64);
            let (mut ten, mut sixteen) = (String::new(), String::new());
            decimal(n, &mut ten);
            hex(n, &mut sixteen);
            assert_eq!((ten, sixteen), (format!("{n}"), format!("{n:#x}")));
        }
        assert_eq!([0, u64::MAX].map(|n| with(hex, n)), ["0x0", "0xffffffffffffffff"]);
    }

    fn with(write: fn(u64, &mut String), n: u64) -> String {
        let mut text = String::new();
        write(n, &mut text);
        text
    }

    /// The reference: times by floating point.
    fn by_format(ns: u64) -> String {
        let (unit, size) = match ns {
            0..1_000 => return format!("{ns}ns"),
            1_000..999_500 => ("us", 1e3),
            999_500..999_500_000 => ("ms", 1e6),
            _ => ("s", 1e9),
        };
        let value = ns as f64 / size;
        let digits = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
        let text = format!("{value:.digits$}");
        let text = if digits > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
        format!("{text}{unit}")
    }

    #[test]
    fn times_as_they_are_formatted() {
        let far = (0..200_000).map(|n| n * 7_919 * (1 + n % 97 * 31) + n % 11);
        let halves = (0..100_000).flat_map(|n| [n * 500, n * 5_000, n * 50_000, n * 5_000_000]);
        for ns in (0..1_200_000).step_by(5).chain(0..20_000).chain(far).chain(halves) {
            assert_eq!(time(ns), by_format(ns), "{ns}");
        }
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
