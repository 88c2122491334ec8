//! `--capture-range`: which part of the program's run is recorded, in the words of Nsight Systems.

use cutap_wire::control::CAPTURE_RANGE_BYTES;
use std::str::FromStr;

/// A part of the program's run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CaptureRange {
    /// From cuProfilerStart to cuProfilerStop.
    ProfilerApi,
    /// While a range of NVTX is open; both may have `*`.
    Nvtx { name: String, domain: String },
}

impl CaptureRange {
    /// What the target reads of a range of NVTX.
    pub fn nvtx_text(&self) -> Option<String> {
        match self {
            CaptureRange::ProfilerApi => None,
            CaptureRange::Nvtx { name, domain } => Some(format!("{name}\n{domain}\n")),
        }
    }
}

impl FromStr for CaptureRange {
    type Err = String;

    fn from_str(text: &str) -> Result<CaptureRange, String> {
        if text == "cudaProfilerApi" {
            return Ok(CaptureRange::ProfilerApi);
        }
        let expected = "give cudaProfilerApi, or nvtx:NAME[@DOMAIN] for the time in which a range of NVTX is open";
        let range = text.strip_prefix("nvtx:").filter(|range| !range.contains('\n')).ok_or(expected)?;
        let (name, domain) = range.rsplit_once('@').unwrap_or((range, "*"));
        if name.is_empty() || domain.is_empty() || text.len() + 2 > CAPTURE_RANGE_BYTES {
            return Err(expected.to_owned());
        }
        Ok(CaptureRange::Nvtx { name: name.to_owned(), domain: domain.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words() {
        let text = |words: &str| words.parse::<CaptureRange>().map(|range| range.nvtx_text());
        assert_eq!(text("cudaProfilerApi"), Ok(None));
        assert_eq!(text("nvtx:step 3"), Ok(Some("step 3\n*\n".to_owned())));
        assert_eq!(text("nvtx:a@b@Domain"), Ok(Some("a@b\nDomain\n".to_owned())));
        for wrong in ["often", "nvtx", "nvtx:", "nvtx:a@", "nvtx:@a", "nvtx:a\nb"] {
            assert!(text(wrong).is_err(), "{wrong}");
        }
    }
}
