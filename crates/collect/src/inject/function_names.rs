//! The functions that a rule names, and the names of their errors.

use cutap_calls::generated::known::TABLES;
use cutap_calls::glob;
use cutap_calls::known::{Enum, Function, Type};
use cutap_hook::contract;
use cutap_trace::{FunctionMatch, did_you_mean, find_function};
use cutap_wire::hooks::is_version;
use cutap_wire::injected::NAME;
use std::fmt::Display;

/// A pattern of names, in some layers.
#[derive(Debug, Clone)]
pub struct FunctionName {
    pub pattern: String,
    /// As a hook library names layers.
    pub layers: u32,
}

/// The enum of the results of functions.
pub struct NamedStatus(&'static Enum);

impl FunctionName {
    /// `[LAYER:]NAME`, with `*` and `?`. A name that no function has is refused, with those that are near.
    pub fn parse(text: &str) -> Result<FunctionName, String> {
        let layers = |word| match word {
            "library" => Some(contract::LIBRARY),
            "runtime" => Some(contract::RUNTIME),
            "driver" => Some(contract::DRIVER),
            "hidden" => Some(contract::HIDDEN),
            _ => None,
        };
        let (layers, pattern) = match text.split_once(':') {
            Some(("syscall", _)) => {
                return Err("requests to the kernel driver are answered by cutap syscall trace --fail".to_owned());
            }
            Some((layer, pattern)) => match layers(layer) {
                Some(layers) => (layers, pattern),
                None => return Err(format!("there is no layer {layer}; take library, runtime, driver or hidden")),
            },
            None => (contract::ALL, text),
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '*' | '?' | '[' | ']');
        if pattern.is_empty() || pattern.len() >= NAME || !pattern.chars().all(is_name) {
            return Err(format!("{text} is no name of functions; write it as cudaMalloc or cuMemcpy*"));
        }
        if let FunctionMatch::Unknown(near) = find_function(pattern) {
            return Err(match near.is_empty() {
                true => format!("no function {pattern} is known; cutap api --list has those that are"),
                false => format!("no function {pattern} is known; did you mean {}?", near.join(", ")),
            });
        }
        Ok(FunctionName { pattern: pattern.to_owned(), layers })
    }

    fn is_of(&self, function: &Function) -> bool {
        let name = function.name.as_bytes();
        glob(self.pattern.as_bytes(), name) || is_version(self.pattern.as_bytes(), name)
    }

    /// The enum of the results of all functions that are meant.
    pub fn status(&self) -> Result<NamedStatus, String> {
        let mut common: Option<&'static Enum> = None;
        for function in TABLES.families.iter().flat_map(|family| family.functions).filter(|of| self.is_of(of)) {
            let Some(Type::Status(of)) = TABLES.types.get(usize::from(function.returns)) else {
                let (pattern, name) = (&self.pattern, function.name);
                return Err(format!("{name} is one of {pattern}, and returns no status; name fewer functions"));
            };
            let Some(status) = TABLES.enums.get(usize::from(*of)) else { continue };
            match common {
                Some(before) if before.name != status.name => {
                    let (a, b) = (before.name, status.name);
                    return Err(format!("functions of {} return {a} and {b}; name fewer functions", self.pattern));
                }
                _ => common = Some(status),
            }
        }
        common.map(NamedStatus).ok_or_else(|| NamedStatus::missing(&self.pattern))
    }
}

impl NamedStatus {
    /// The number of an error.
    pub fn code(&self, name: &str) -> Result<u64, String> {
        if let Some((number, _)) = self.0.values.iter().find(|(_, known)| *known == name) {
            return Ok(*number as u64);
        }
        let near = did_you_mean(name, self.0.values.iter().map(|(_, known)| *known));
        let of = self.0.name;
        Err(match near.is_empty() {
            true => format!("{of} has no {name}; give one of its names, or a number"),
            false => format!("{of} has no {name}; did you mean {}?", near.join(", ")),
        })
    }

    /// No enum of results is known.
    pub fn missing(of: &dyn Display) -> String {
        format!("it is not known what {of} returns; give the result as retval=NUMBER")
    }
}
