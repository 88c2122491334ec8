//! Why a filter was refused.

/// Why a filter was refused: one sentence for the person who wrote it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FilterError(pub(super) String);
