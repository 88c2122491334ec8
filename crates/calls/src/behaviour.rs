//! What functions do beside what their prototypes tell, by exported name: a fact that is known of one
//! form of a function is known of all (`_v2`, `_ptds`, `_ptsz`).

use crate::generated::behaviour::{BEGINS_CAPTURE, BLOCKS, ENDS_CAPTURE, HANDS_OUT, RESETS};
use crate::glob;

/// Why a call of this function may make the host wait for a device; `None` for one that does not.
pub fn blocks(name: &str) -> Option<&'static str> {
    let at = BLOCKS.binary_search_by_key(&plain(name), |(name, _)| name).ok()?;
    BLOCKS.get(at).map(|(_, why)| *why)
}

/// Whether a call of this function ends a context, or the primary one of a device, with what was made in it.
pub fn resets(name: &str) -> bool {
    RESETS.binary_search(&plain(name)).is_ok()
}

/// Whether a handle that this function writes is of something that was there before, or that ends with
/// what it is a part of: nobody has to end it.
pub fn hands_out(name: &str) -> bool {
    let fits = |pattern: &str| glob(pattern.as_bytes(), name.as_bytes());
    let none = |pattern: &&str| pattern.strip_prefix('!').is_some_and(fits);
    HANDS_OUT.iter().any(|pattern| fits(pattern)) && !HANDS_OUT.iter().any(none)
}

/// Whether a call of this function says into which graph a stream's work goes from now on: the one that it is given, or a new one.
pub fn begins_capture(name: &str) -> bool {
    BEGINS_CAPTURE.binary_search(&plain(name)).is_ok()
}

/// Whether a call of this function writes that graph.
pub fn ends_capture(name: &str) -> bool {
    ENDS_CAPTURE.binary_search(&plain(name)).is_ok()
}

/// The name without what its forms add.
fn plain(name: &str) -> &str {
    let name = name.strip_suffix("_ptds").or(name.strip_suffix("_ptsz")).unwrap_or(name);
    match name.rsplit_once("_v") {
        Some((plain, digits)) if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => plain,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms() {
        assert_eq!(blocks("cuStreamSynchronize_ptsz"), Some("waits for the device"));
        assert_eq!(blocks("cuMemcpyDtoH_v2_ptds"), blocks("cuMemcpyDtoH"));
        assert!(blocks("cudaMemcpy").is_some() && blocks("cudaMemcpyAsync").is_none());
        assert!(hands_out("cuCtxGetCurrent") && !hands_out("cuCtxCreate_v2"));
        assert!(hands_out("cuCtxPopCurrent_v2") && !hands_out("cuExternalMemoryGetMappedBuffer"));
        assert!(!hands_out("cusparseSpMatConvertDescrCreate"));
        assert!(begins_capture("cuStreamBeginCapture_v2_ptsz") && !begins_capture("cuStreamEndCapture"));
        assert!(ends_capture("cudaStreamEndCapture_ptsz") && !ends_capture("cudaStreamBeginCapture"));
        assert!(resets("cuCtxDestroy_v2") && !resets("cuCtxCreate_v2"));
    }
}
