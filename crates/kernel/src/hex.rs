//! Hexadecimal digits.

/// Bytes as digits.
pub(crate) fn text(bytes: &[u8]) -> String {
    let digit = |n: u8| char::from(if n < 10 { b'0' + n } else { b'a' + n - 10 });
    bytes.iter().flat_map(|b| [digit(b >> 4), digit(b & 15)]).collect()
}

/// Bytes from pairs of digits; none where the text has anything else.
pub(crate) fn bytes(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let digit = |c: u8| char::from(c).to_digit(16).and_then(|d| u8::try_from(d).ok());
    match rest {
        [] => pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect(),
        _ => None,
    }
}

/// A number: hexadecimal with `0x`, else decimal.
pub(crate) fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        assert_eq!(text(&[0, 0x1f, 0xff]), "001fff");
        assert_eq!(bytes("001Fff"), Some(vec![0, 0x1f, 0xff]));
        assert_eq!((bytes("0"), bytes("zz"), bytes("é1")), (None, None, None));
        assert_eq!((number("0x10"), number("10"), number("x")), (Some(16), Some(10), None));
    }
}
