//! The parameter list of a kernel in PTX: names and types. The text comes from a process and may be anything; text that
//! is not understood gives no list.
//!
//! Limits: PTX in a file is read only by `cutap trace` while it follows the program, if the call is recorded and
//! the file is unchanged. `.u32` of a compiler's PTX may be a signed number. If modules have kernels of one name
//! and the same sizes with different lists, no list is used. A kernel of that name without PTX gets the one list
//! that exists.

use cutap_cubin::ptx::{Kernel, Kind};
use std::sync::Arc;

/// A kernel's parameters as PTX has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The kernel's name, mangled.
    pub name: String,
    /// Bytes and type of each parameter.
    pub parameters: Vec<(u32, Kind)>,
    /// Names, in the same order; empty where the compiler made one up.
    pub names: Arc<[Box<str>]>,
}

impl Entry {
    /// Reads `.entry name(.param .u32 n, .param .align 8 .b8 s[16])`.
    pub fn parse(text: &[u8]) -> Option<Entry> {
        let text = str::from_utf8(text).ok()?;
        let Kernel { name, parameters, .. } =
            Kernel::parse(text.strip_prefix(".entry")?).filter(|kernel| kernel.is_exact)?;
        let is_made_up = |own: &str| own.strip_prefix(&*name).is_some_and(|rest| rest.starts_with("_param_"));
        let own_name = |own: &String| if is_made_up(own) { Box::default() } else { own.as_str().into() };
        let names = parameters.iter().flat_map(|parameter| &parameter.name).map(own_name).collect();
        let parameters = parameters.iter().map(|parameter| (parameter.size as u32, parameter.kind)).collect();
        Some(Entry { name, parameters, names })
    }

    /// Whether the parameters have these sizes.
    pub fn has_sizes(&self, sizes: impl ExactSizeIterator<Item = u32>) -> bool {
        self.parameters.len() == sizes.len() && self.parameters.iter().zip(sizes).all(|(p, size)| p.0 == size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_compiler() {
        let names = |text: &str| Entry::parse(text.as_bytes()).map(|entry| entry.names.join(" "));
        assert_eq!(names(".entry k(.param .u32 n, .param .u64 k_param_1)").as_deref(), Some("n "));
        for other in ["", "k(.param .u32 n)", ".entry k", ".entry k(.param .u32 n) more", ".entry k(.param .u32 n m)"] {
            assert_eq!(names(other), None, "{other}");
        }
    }

    #[test]
    fn sizes() {
        let entry = Entry::parse(b".entry k(.param .u64 a, .param .u32 n)").unwrap();
        assert!(entry.has_sizes([8, 4].into_iter()));
        assert!(!entry.has_sizes([8, 8].into_iter()) && !entry.has_sizes([8].into_iter()));
    }
}
