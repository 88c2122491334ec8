//! Versions as the files of `api/` write them: a toolkit's `"12.9"`, a SONAME's `"12"`.

/// 12090 for `12.9`, 12 for `12`; `None` when it is neither.
pub(crate) fn parse(text: &str) -> Option<u32> {
    match text.split_once('.') {
        Some((major, minor)) => {
            let (major, minor) = (major.parse::<u16>().ok()?, minor.parse::<u16>().ok()?);
            (minor < 100).then(|| u32::from(major) * 1000 + u32::from(minor) * 10)
        }
        None => text.parse::<u16>().ok().map(u32::from),
    }
}

/// The major version of one that [`parse`] gave.
pub(crate) fn major(version: u32) -> u32 {
    if version >= 1000 { version / 1000 } else { version }
}

/// The versions between which something stands as it does: 0 from the beginning, `u32::MAX` to now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Span {
    pub(crate) since: u32,
    pub(crate) until: u32,
}

impl Span {
    pub(crate) fn contains(self, version: u32) -> bool {
        self.since <= version && version <= self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms() {
        assert_eq!(parse("12.9").map(|v| (v, major(v))), Some((12090, 12)));
        assert_eq!(parse("11.8"), Some(11080));
        assert_eq!(parse("9").map(|v| (v, major(v))), Some((9, 9)));
        assert_eq!(parse("twelve").or(parse("12.x")).or(parse("")), None);
    }
}
