//! What a context keeps for cooperative launches.

use crate::allocation::Allocation;
use crate::fence::Fence;

/// The state of a context's cooperative launches.
#[derive(Debug, Default)]
pub(crate) struct Cooperation {
    /// Two words by which a grid synchronizes.
    pub workspace: Option<Allocation>,
    /// The launch before.
    pub last: Option<Fence>,
}
