//! `--python`: of which calls the Python frames are kept. As for stacks, the target decides when a function is first
//! handed out.

use crate::base::error::{Error, Result};
use crate::options::filter::filter;
use crate::options::stacks::why_refused;
use cutap_wire::control::PYTHON_RULES_BYTES;

/// Which frames are wanted.
#[derive(Debug, Clone, Default)]
pub struct Python {
    /// The text of a filter; none: calls that start work, allocate, free, wait or fail.
    pub filter: Option<String>,
}

impl Python {
    /// The rules; empty without a filter. Refuses what cannot be decided in the target.
    pub fn rules(&self) -> Result<String> {
        let Some(text) = &self.filter else { return Ok(String::new()) };
        let of = filter(Some(text)).map_err(|e| Error::own(format!("--python: {}", e.sentence)))?;
        match why_refused(&of, "frames of Python", PYTHON_RULES_BYTES) {
            None => Ok(of.rules().to_owned()),
            Some(why) => Err(Error::own(format!("--python={text}: {why}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused() {
        let rules = |text: &str| Python { filter: Some(text.into()) }.rules().map_err(|e| e.sentence);
        assert_eq!(rules("cuMem*,!driver").unwrap(), "+* * cuMem*\n-d * *\n");
        for (text, why) in [("", "empty"), ("error", "before any call"), ("lookup", "have no frames of Python")] {
            let said = rules(text).unwrap_err();
            assert!(said.starts_with("--python") && said.contains(why), "{text}: {said}");
        }
        assert_eq!(Python::default().rules().unwrap(), "");
    }
}
