//! `2GiB[@DEVICE]`.

use crate::base::error::{Error, Result};
use cutap_quantity::bytes;
use cutap_wire::accounts::UNIT;
use cutap_wire::limited::DEVICES;

/// How much memory a run may have of a device, or of each device without a separate limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryLimit {
    pub bytes: u64,
    /// As the program counts.
    pub device: Option<usize>,
}

impl MemoryLimit {
    /// Parses a limit, or says what is wrong with it.
    pub fn parse(text: &str) -> Result<MemoryLimit> {
        let wrong = |why: String| Error::own(format!("--limit-memory {text}: {why}"));
        let (size, device) = text.split_once('@').map_or((text, None), |(size, device)| (size, Some(device)));
        let size = size.trim();
        let bytes = bytes(size).ok_or_else(|| {
            wrong(format!("{size} is no size; write it as 2GiB, or as 2GiB@0 for the first device alone"))
        })?;
        if bytes < UNIT {
            return Err(wrong("no program can do with so little; give at least 1KiB".into()));
        }
        let number = |text: &str| text.trim().parse::<usize>().ok().filter(|number| *number < DEVICES);
        let device = device.map(|text| {
            let most = DEVICES - 1;
            number(text)
                .ok_or_else(|| wrong(format!("{text} is no device; give its number in the program, 0 to {most}")))
        });
        Ok(MemoryLimit { bytes, device: device.transpose()? })
    }

    /// Refuses two limits for the same device.
    pub fn check(all: &[MemoryLimit]) -> Result<()> {
        for (n, limit) in all.iter().enumerate() {
            if all.iter().skip(n + 1).any(|other| other.device == limit.device) {
                let of = limit.device.map_or_else(|| "each device".to_owned(), |device| format!("device {device}"));
                return Err(Error::own(format!("--limit-memory is given twice for {of}; leave one out")));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits() {
        let parsed = |text| MemoryLimit::parse(text).map(|limit| (limit.bytes, limit.device)).ok();
        assert_eq!(parsed("2GiB"), Some((2 << 30, None)));
        assert_eq!(parsed("512M@3"), Some((512 << 20, Some(3))));
        for (text, part) in [("2Gx", "is no size"), ("0", "so little"), ("1GiB@x", "is no device"), ("1GiB@32", "31")] {
            let why = MemoryLimit::parse(text).map(drop).expect_err(text).to_string();
            assert!(why.contains(part), "{text}: {why}");
        }
        let limit = |device| MemoryLimit { bytes: 1 << 20, device };
        assert!(MemoryLimit::check(&[limit(None), limit(Some(0)), limit(Some(1))]).is_ok());
        assert!(MemoryLimit::check(&[limit(Some(1)), limit(None), limit(Some(1))]).is_err());
    }
}
