//! Calls that a reader wants with their arguments. Those that they do not depend on are paired and not decoded, which
//! takes little more time than adding up.

use crate::symbols::functions::ResolvedFunction;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Calls by the folder of their process and their number in a ring. Two threads may have calls of one number, so a few
/// more calls are read than these.
#[derive(Debug, Clone, Default)]
pub struct SelectedCalls {
    folders: HashMap<Box<str>, Arc<CallNumbers>>,
}

/// Numbers of calls in the rings of a process.
pub type CallNumbers = HashSet<u32>;

impl SelectedCalls {
    /// Adds a call.
    pub fn add(&mut self, folder: &str, number: u32) {
        Arc::make_mut(self.folders.entry(folder.into()).or_default()).insert(number);
    }

    /// Those of a process.
    pub(crate) fn of(&self, folder: &str) -> Arc<CallNumbers> {
        self.folders.get(folder).cloned().unwrap_or_default()
    }
}

/// Whether a call is read: one that is selected, is made inside one that is read, or makes what arguments of others
/// lead to.
pub(crate) fn is_read(resolved: &ResolvedFunction, number: u32, is_inside: bool, selected: &CallNumbers) -> bool {
    resolved.changes_state || is_inside || selected.contains(&number)
}
