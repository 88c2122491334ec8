//! Type names over all families: each that is used must be declared somewhere under `api/`.

use crate::ctype::base;
use crate::layout::builtin;
use std::collections::{BTreeMap, BTreeSet};

/// Names that come from elsewhere than NVIDIA's headers, or that the interpreter knows by itself.
const OUTSIDE: [&str; 10] =
    ["FILE", "code", "half", "nv_bfloat16", "__half", "__nv_bfloat16", "timespec", "sockaddr", "char", "unsigned"];

/// What was declared and used.
#[derive(Default)]
pub(crate) struct UsedNames {
    declared: BTreeSet<String>,
    /// With the first place of use.
    used: BTreeMap<String, String>,
}

impl UsedNames {
    pub(crate) fn declared(&mut self, name: &str) {
        self.declared.insert(name.to_owned());
    }

    pub(crate) fn used(&mut self, ty: &str, at: &str) {
        let name = base(ty);
        if builtin(&name).is_none() && !OUTSIDE.contains(&name.as_str()) {
            self.used.entry(name).or_insert_with(|| at.to_owned());
        }
    }

    /// The names that nothing declares.
    pub(crate) fn unknown(&self) -> Vec<String> {
        let unknown = self.used.iter().filter(|(name, _)| !self.declared.contains(*name));
        unknown.map(|(name, at)| format!("type {name} of {at} is declared nowhere")).collect()
    }
}
