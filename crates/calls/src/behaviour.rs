//! Behaviour of functions that their prototypes do not show: waiting, resetting, stream capture.
//!
//! Looked up by exported name. A fact about one form of a function holds for all its forms (`_v2`, `_ptds`, `_ptsz`).

use crate::generated::behaviour::{BEGINS_CAPTURE, BLOCKS, CHATTER, CONTEXTS, ENDS_CAPTURE, HANDS_OUT, RESETS, STATE};
use crate::generated::tracked::MEMORY;
use crate::glob;

/// The reason why a call may make the host wait for a device, or `None` if it does not wait.
pub fn blocks(name: &str) -> Option<&'static str> {
    let at = BLOCKS.binary_search_by_key(&plain(name), |(name, _)| name).ok()?;
    BLOCKS.get(at).map(|(_, why)| *why)
}

/// Whether a call destroys a context, or the primary context of a device, with everything created in it.
pub fn resets(name: &str) -> bool {
    RESETS.binary_search(&plain(name)).is_ok()
}

/// Whether annotations of addresses depend on calls of this function: it creates or frees memory, or changes the
/// context in which memory is created.
pub fn tells_of_memory(name: &str) -> bool {
    MEMORY.binary_search(&name).is_ok() || CONTEXTS.binary_search(&plain(name)).is_ok()
}

/// Whether later calls depend on what this function makes, changes or ends: memory, modules, kernels, graphs and their
/// captures, communicators. Such calls are recorded even where others are left out.
pub fn keeps_state(name: &str) -> bool {
    tells_of_memory(name) || fits(STATE, name)
}

/// Whether a function starts no work and hands out nothing that later calls depend on. All of them return a status.
pub fn is_chatter(name: &str) -> bool {
    fits(CHATTER, plain(name))
}

/// Whether the handles that this function writes belong to existing objects, or to parts of one.
///
/// The caller does not have to destroy such a handle, so it is no leak.
pub fn hands_out(name: &str) -> bool {
    fits(HANDS_OUT, name)
}

/// Whether a pattern fits a name, and none of those with `!` does.
fn fits(patterns: &[&str], name: &str) -> bool {
    let fits = |pattern: &str| glob(pattern.as_bytes(), name.as_bytes());
    let excludes = |pattern: &&str| pattern.strip_prefix('!').is_some_and(fits);
    patterns.iter().any(|pattern| fits(pattern)) && !patterns.iter().any(excludes)
}

/// Whether a call starts to capture a stream's work into a graph, either a given graph or a new one.
pub fn begins_capture(name: &str) -> bool {
    BEGINS_CAPTURE.binary_search(&plain(name)).is_ok()
}

/// Whether a call ends a capture and writes the captured graph.
pub fn ends_capture(name: &str) -> bool {
    ENDS_CAPTURE.binary_search(&plain(name)).is_ok()
}

/// The name without the suffixes of its forms (`_v2`, `_ptds`, `_ptsz`).
pub fn plain(name: &str) -> &str {
    let name = name.strip_suffix("_ptds").or(name.strip_suffix("_ptsz")).unwrap_or(name);
    // `rsplit_once` brings panic machinery into the target.
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit());
    match plain.strip_suffix("_v") {
        Some(stem) if plain.len() < name.len() => stem,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chatter_is_no_state_and_starts_no_work() {
        for name in [
            "cudaGetDevice",
            "cuCtxGetCurrent",
            "cuCtxGetDevice_v2",
            "cuStreamIsCapturing_ptsz",
            "cudaOccupancyMaxActiveBlocksPerMultiprocessor",
            "__cudaPopCallConfiguration",
            "cublasGetStream_v2",
            "cuPointerGetAttributes",
        ] {
            assert!(is_chatter(name), "{name}");
        }
        for name in [
            "cudaStreamGetCaptureInfo_v2",
            "cudaSetDevice",
            "cuCtxSetCurrent",
            "cudaEventQuery",
            "cuStreamQuery",
            "cuModuleGetFunction",
            "cuDevicePrimaryCtxRetain",
            "cublasGetVector",
            "cudaGetErrorString",
            "cudaLaunchKernel",
        ] {
            assert!(!is_chatter(name), "{name}");
        }
        for name in crate::FUNCTIONS.iter().filter(|name| is_chatter(name)) {
            assert!(!keeps_state(name) && blocks(name).is_none() && !resets(name), "{name}");
        }
    }

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
        for name in ["cuMemFree_v2", "cuMemFreeAsync_ptsz", "cuCtxSetCurrent", "cuMemAlloc_v2", "cuCtxDestroy_v2"] {
            assert!(tells_of_memory(name), "{name}");
        }
        for name in ["cuGraphAddKernelNode_v2", "cuStreamBeginCapture_v2_ptsz", "cuMemAlloc_v2", "ncclCommInitRank"] {
            assert!(keeps_state(name), "{name}");
        }
        for name in
            ["cuGraphLaunch", "cuGraphUpload", "cuGraphExecGetFlags", "cuLaunchKernel", "cuGraphicsMapResources"]
        {
            assert!(!keeps_state(name), "{name}");
        }
        assert!(
            !tells_of_memory("cuLaunchKernel") && !tells_of_memory("cuGraphLaunch") && !tells_of_memory("cudaFree")
        );
    }
}
