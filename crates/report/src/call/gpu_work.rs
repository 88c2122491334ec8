//! What the GPU did, in a few words.

use crate::format::units::bytes;
use cutap_calls::gpu_time::copy_kind;
use cutap_wire::rows::RowContent;

/// `copy HtoD of 4 KiB`, `set of 13 B`, or what `kernel` makes of the kernel's name; none for rows on the collection.
pub fn work_text(content: &RowContent, kernel: impl FnOnce() -> String) -> Option<String> {
    Some(match content {
        RowContent::Kernel(_) => kernel(),
        RowContent::Copy(copied) => format!("copy {} of {}", copy_kind(copied.kind), bytes(copied.bytes)),
        RowContent::Set { bytes: size, .. } => format!("set of {}", bytes(*size)),
        RowContent::DriverCall { .. } | RowContent::Clock { .. } | RowContent::State(_) => return None,
    })
}
