//! Callback ids of runtime functions from CUPTI's header. An id's name ends in the version since when it
//! is; the newest of a name is the one that this version uses.

use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::path::Path;

const PREFIX: &str = "CUPTI_RUNTIME_TRACE_CBID_";

/// Ids by exported name.
pub(crate) fn read(path: &Path) -> Result<BTreeMap<String, u32>> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let ids = parse(&text);
    ensure!(!ids.is_empty(), "{} names no callback id; is it cupti_runtime_cbid.h?", path.display());
    Ok(ids)
}

fn parse(text: &str) -> BTreeMap<String, u32> {
    let mut newest: BTreeMap<String, (u32, u32)> = BTreeMap::new();
    for line in text.lines() {
        let Some((name, id)) = line.trim().trim_end_matches(',').split_once('=') else { continue };
        let Some(name) = name.trim().strip_prefix(PREFIX) else { continue };
        let (Some((name, since)), Ok(id)) = (name.rsplit_once("_v"), id.trim().parse::<u32>()) else { continue };
        let Ok(since) = since.parse::<u32>() else { continue };
        let slot = newest.entry(name.to_owned()).or_insert((since, id));
        if since >= slot.0 {
            *slot = (since, id);
        }
    }
    newest.into_iter().map(|(name, (_, id))| (name, id)).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn newest_of_a_name() {
        let text = "enum {\n CUPTI_RUNTIME_TRACE_CBID_INVALID = 0,\n CUPTI_RUNTIME_TRACE_CBID_cudaA_v3020 = 7,\n \
                    CUPTI_RUNTIME_TRACE_CBID_cudaA_v13000 = 9,\n CUPTI_RUNTIME_TRACE_CBID_cudaB_v2_v4000 = 8,\n};";
        let ids = super::parse(text);
        assert_eq!(ids.into_iter().collect::<Vec<_>>(), [("cudaA".to_owned(), 9), ("cudaB_v2".to_owned(), 8)]);
    }
}
