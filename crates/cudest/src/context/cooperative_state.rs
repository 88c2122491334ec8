//! What a context keeps for cooperative launches.

use crate::memory::allocation::Allocation;
use crate::submission::fence::Fence;

/// The state of a context's cooperative launches.
#[derive(Debug, Default)]
pub(crate) struct CooperativeState {
    /// Two words by which a grid synchronizes.
    pub workspace: Option<Allocation>,
    /// The launch before.
    pub last: Option<Fence>,
}
