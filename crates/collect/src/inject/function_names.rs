//! The functions that a rule names, and the names of their errors.

use cutap_calls::generated::known::TABLES;
use cutap_calls::known::{Enum, Family, Function, Type};
use cutap_calls::{Role, glob, has_role};
use cutap_hook::contract;
use cutap_trace::{FunctionMatch, did_you_mean, find_function};
use cutap_wire::hooks::{is_plain, is_version};
use cutap_wire::injected::NAME;
use std::fmt::Display;

/// A pattern of names, in some layers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionName {
    pub pattern: String,
    /// As a hook library names layers.
    pub layers: u32,
}

/// The layer of a library's functions, as a hook library names it.
pub fn layer_of(family: &Family) -> u32 {
    match family.name {
        "driver" => contract::DRIVER,
        "runtime" => contract::RUNTIME,
        _ => contract::LIBRARY,
    }
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

    /// Whether a pattern is of a function: as a pattern, or because the function is a version of a plain name.
    fn fits(&self, name: &str) -> bool {
        let (pattern, name) = (self.pattern.as_bytes(), name.as_bytes());
        glob(pattern, name) || is_plain(pattern) && is_version(pattern, name)
    }

    /// The known functions that are meant, with their layers.
    fn functions(&self) -> impl Iterator<Item = (&'static Function, u32)> {
        let of = |family: &'static Family| family.functions.iter().map(move |function| (function, layer_of(family)));
        TABLES.families.iter().flat_map(of).filter(|(of, layer)| self.layers & layer != 0 && self.fits(of.name))
    }

    /// Names of the parameters of all functions that are meant.
    pub fn parameters(&self) -> Vec<&'static str> {
        self.functions().flat_map(|(function, _)| function.params.iter().map(|param| param.name)).collect()
    }

    /// All are functions of the driver or of the runtime.
    pub fn is_of_cuda(&self) -> bool {
        let mut layers = self.functions().map(|(_, layer)| layer).peekable();
        layers.peek().is_some() && layers.all(|layer| layer & (contract::DRIVER | contract::RUNTIME) != 0)
    }

    /// Names of functions that are meant and that none of these patterns is of.
    pub fn not_among(&self, armed: &[FunctionName]) -> Vec<&'static str> {
        let is_armed = |name: &str, layer: u32| armed.iter().any(|of| of.layers & layer != 0 && of.fits(name));
        let mut names: Vec<&'static str> =
            self.functions().filter(|(of, layer)| !is_armed(of.name, *layer)).map(|(of, _)| of.name).collect();
        names.dedup();
        names
    }

    /// The enum of the results of all functions that are meant.
    pub fn status(&self) -> Result<NamedStatus, String> {
        let mut common: Option<&'static Enum> = None;
        for (function, _) in self.functions() {
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

/// The status that a function of this name typically fails with: of those that make something, that there is no memory.
/// None: it has no status, or says how another call ended.
pub fn typical_error(function: &str) -> Option<String> {
    const WORDS: [&str; 10] = [
        "ERROR_UNKNOWN",
        "ErrorUnknown",
        "INTERNAL_ERROR",
        "ystemError",
        "InternalError",
        "EXECUTION_FAILED",
        "INTERNAL",
        "FAILED",
        "FAILURE",
        "ERROR",
    ];
    const OF_MEMORY: [&str; 4] = ["OUT_OF_MEMORY", "MemoryAllocation", "ALLOC_FAILED", "ystemError"];
    const MAKING: [&str; 6] = ["Alloc", "Malloc", "Create", "HostRegister", "Instantiate", "Load"];
    if has_role(function.as_bytes(), Role::AsksLastError) {
        return None;
    }
    let name = FunctionName { pattern: function.to_owned(), layers: contract::ALL };
    let NamedStatus(status) = name.status().ok()?;
    let of_memory = if MAKING.iter().any(|word| function.contains(word)) { &OF_MEMORY[..] } else { &[] };
    let mut names = status.values.iter().filter(|(number, _)| *number != 0).map(|(_, name)| *name);
    let all: Vec<&str> = names.by_ref().collect();
    let words = of_memory.iter().chain(&WORDS);
    let first = words.filter_map(|word| all.iter().find(|name| name.contains(word))).next();
    first.or(all.last()).map(|name| (*name).to_owned())
}
