//! How often each export without an implementation was called. Only the default answers and the hidden tables add to
//! it.

use crate::generated::DEFAULTS;
use std::sync::atomic::AtomicU64;

/// Calls of each export that has only the default answer.
pub static COUNTS: [AtomicU64; DEFAULTS.len()] = [const { AtomicU64::new(0) }; DEFAULTS.len()];

/// Calls of unknown slots of hidden tables.
pub static HIDDEN: AtomicU64 = AtomicU64::new(0);
