//! The hasher of tables whose keys are addresses, handles and threads of a recorded program. They are looked up several
//! times a call. The seed is random in each process, so no file can have keys that all fall into one bucket.

use std::collections::HashMap;

/// A table with quick look-ups.
pub type FastHashMap<K, V> = HashMap<K, V, foldhash::fast::RandomState>;
