//! All that a run does to calls.

use super::function_names::FunctionName;
use super::rule_text::InjectRule;
use cutap_hook::contract::DRIVER;
use std::path::PathBuf;

/// What a run does to calls.
#[derive(Debug, Clone)]
pub struct Injection {
    pub rules: Vec<InjectRule>,
    /// Functions that rules may be of which `cutap ctl` sets later.
    pub armed: Vec<FunctionName>,
    /// The first number of the chances.
    pub seed: u64,
    /// The file that the call sites are written to at the end.
    pub sites: Option<PathBuf>,
}

impl Default for Injection {
    fn default() -> Injection {
        Injection { rules: Vec::new(), armed: Vec::new(), seed: 1, sites: None }
    }
}

impl Injection {
    /// Nothing is done to calls.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.armed.is_empty() && self.sites.is_none()
    }

    /// Each pattern whose functions are hooked, once.
    pub fn patterns(&self) -> Vec<FunctionName> {
        let of_rules = self.rules.iter().flat_map(|rule| &rule.functions);
        let mut all: Vec<FunctionName> = Vec::new();
        let all_layers =
            [("cu*", DRIVER), ("cuda*", cutap_hook::contract::RUNTIME), ("*", cutap_hook::contract::LIBRARY)];
        let surveyed = all_layers.iter().filter(|_| self.sites.is_some());
        let of_faults = self.rules.iter().any(|rule| rule.is_fault).then_some(DRIVER_FUNCTIONS);
        let more = surveyed.copied().chain(of_faults);
        let more: Vec<FunctionName> =
            more.map(|(pattern, layers)| FunctionName { pattern: pattern.to_owned(), layers }).collect();
        for name in of_rules.chain(&self.armed).chain(&more) {
            if !all.contains(name) {
                all.push(name.clone());
            }
        }
        all
    }
}

/// A fault of the GPU makes later calls of all these fail.
pub const DRIVER_FUNCTIONS: (&str, u32) = ("cu*", DRIVER);
