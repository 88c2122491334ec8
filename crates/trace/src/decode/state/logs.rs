//! Where the logs of linkers are: set when a linker is made, and filled by its later calls.

use std::collections::HashMap;
use std::ops::Range;

/// The logs of linkers, by handle: the addresses that each may fill.
#[derive(Debug, Default)]
pub struct Logs(pub HashMap<u64, [Range<u64>; 2]>);
