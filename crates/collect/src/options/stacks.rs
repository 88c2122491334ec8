//! `--stack` and `--stack-size`: for which calls the caller's stack is kept, and how much. The target decides when a
//! function is first handed out, so the filter takes names, layers and libraries only.

use crate::base::error::{Error, Result};
use crate::options::filter::filter;
use cutap_quantity::bytes;
use cutap_trace::Filter;
use cutap_wire::control::{STACK_MOST, STACK_RULES_BYTES};
use std::str::FromStr;

/// Bytes kept where nobody says how many.
const USUAL: u32 = 8192;
/// Fewer would not hold the frames of a call's own library.
const LEAST: u64 = 512;

/// Which stacks are wanted.
#[derive(Debug, Clone, Default)]
pub struct Stacks {
    /// The text of a filter; none: calls that no other recorded call is made around.
    pub filter: Option<String>,
    /// Bytes of each.
    pub size: StackSize,
}

/// Bytes of a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StackSize(u32);

impl Default for StackSize {
    fn default() -> StackSize {
        StackSize(USUAL)
    }
}

impl FromStr for StackSize {
    type Err = Error;
    fn from_str(text: &str) -> Result<StackSize> {
        let fits = |n: &u64| (LEAST..=STACK_MOST as u64).contains(n);
        match bytes(text).filter(fits) {
            Some(n) => Ok(StackSize(n as u32 & !7)),
            None => Err(Error::own("give a size from 512 to 64K bytes of a stack; 8K, the usual, is good for most")),
        }
    }
}

/// What the control page says of stacks.
#[derive(Debug, Clone, Default)]
pub struct StackCapture {
    /// Of calls that no other is made around, whatever they are.
    pub outermost: bool,
    /// Bytes; 0: none are kept.
    pub bytes: u32,
    /// Of functions that these want.
    pub rules: String,
}

impl Stacks {
    /// Refuses what cannot be decided in the target.
    pub fn capture(&self) -> Result<StackCapture> {
        let bytes = self.size.0;
        let Some(text) = &self.filter else { return Ok(StackCapture { outermost: true, bytes, rules: String::new() }) };
        let of = filter(Some(text)).map_err(|e| Error::own(format!("--stack: {}", e.sentence)))?;
        let Some(why) = why_refused(&of, "stacks", STACK_RULES_BYTES) else {
            return Ok(StackCapture { outermost: false, bytes, rules: of.rules().to_owned() });
        };
        Err(Error::own(format!("--stack={text}: {why}")))
    }
}

/// Why a filter cannot choose in the target what is kept of calls, with so many bytes of rules.
pub fn why_refused(of: &Filter, what: &str, most: usize) -> Option<String> {
    if of.asks_calls() {
        return Some(format!(
            "{what} are chosen by name before any call is made; take names, layers and libraries here, and conditions \
             at show -e"
        ));
    }
    if of.wants_lookups() || of.wants_cxx() {
        return Some(format!("look-ups and C++ functions have no {what}; take names, layers and libraries"));
    }
    let len = of.rules().len();
    (len > most).then(|| format!("the filter is too long ({len} bytes of rules, {most} fit); use names with *"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        let size = |text: &str| text.parse::<StackSize>().map(|s| s.0).map_err(|e| e.sentence);
        assert_eq!((size("8K"), size("512"), size("64KiB"), size("1001")), (Ok(8192), Ok(512), Ok(65536), Ok(1000)));
        for bad in ["0", "511", "65K", "", "8X"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_refused() {
        let kept =
            |text: &str| Stacks { filter: Some(text.into()), ..Stacks::default() }.capture().map_err(|e| e.sentence);
        assert_eq!(kept("cuMem*,!driver").unwrap().rules, "+* * cuMem*\n-d * *\n");
        for (text, why) in [
            ("", "empty"),
            ("error", "before any call"),
            ("cuMem*,>1ms", "before any call"),
            ("cuMemAlloc[bytesize>1]", "before any call"),
            ("lookup", "have no stacks"),
            ("cudaMaloc", "did you mean cudaMalloc"),
        ] {
            let said = kept(text).unwrap_err();
            assert!(said.starts_with("--stack") && said.contains(why), "{text}: {said}");
        }
        let long = vec!["cuMem*"; 100].join(",");
        assert!(kept(&long).unwrap_err().contains("too long"));
        assert!(Stacks::default().capture().unwrap().outermost);
    }
}
