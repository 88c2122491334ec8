//! Statuses of functions, and how the functions of a layer are named: `[[names]]`, `[[answers]]` and `[[statuses]]` of
//! `api/behaviour.toml`.

use crate::generated::behaviour::{ANSWERS, NAMES};
use crate::{Layer, Role, has_role};

/// How the functions of a layer are named.
#[derive(Debug)]
pub struct LayerNames {
    pub layer: Layer,
    /// What the names begin with.
    pub prefix: &'static str,
    /// Longer prefixes of names that other functions have.
    pub not: &'static [&'static str],
    /// The enum of the statuses of functions that no header declares.
    pub status: &'static str,
}

impl LayerNames {
    /// Whether a function of this layer may have this name.
    fn fits(&self, name: &[u8]) -> bool {
        name.starts_with(self.prefix.as_bytes()) && !self.not.iter().any(|other| name.starts_with(other.as_bytes()))
    }
}

/// Whether a name is one as the functions of a layer have.
pub fn is_named_as(layer: Layer, name: &[u8]) -> bool {
    NAMES.iter().any(|of| of.layer == layer && of.fits(name))
}

/// Whether a name has the prefix of a layer whose functions are all known, and an upper-case letter after it.
pub fn is_of_cuda(name: &str) -> bool {
    let rest = |of: &LayerNames| name.strip_prefix(of.prefix).filter(|_| !of.prefix.is_empty());
    NAMES.iter().filter_map(rest).any(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
}

/// The enum of the statuses of a function that no header declares.
pub fn undeclared_status(layer: Layer, name: &str) -> Option<&'static str> {
    NAMES.iter().find(|of| of.layer == layer && of.fits(name.as_bytes())).map(|of| of.status)
}

/// Whether a status of this name is an answer of this function. Such answers are that there is no such table or
/// function, that the work is not done yet, and the error of an earlier call.
pub fn is_answer(function: &str, status: Option<&str>) -> bool {
    let has = |role: Option<Role>| role.is_none_or(|role| has_role(function.as_bytes(), role));
    let is = |name: &&str| *name == "*" || Some(*name) == status;
    ANSWERS.iter().any(|(role, statuses)| statuses.iter().any(is) && has(*role))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generated::behaviour::status;
    use crate::generated::known::TABLES;

    #[test]
    fn answers_and_failures() {
        assert!(is_answer("cuGetExportTable", Some("CUDA_ERROR_INVALID_VALUE")));
        assert!(is_answer("cuGetProcAddress_v2", Some("CUDA_ERROR_NOT_FOUND")));
        assert!(!is_answer("cuGetProcAddress_v2", Some("CUDA_ERROR_INVALID_VALUE")));
        assert!(is_answer("cudaPeekAtLastError", Some("cudaErrorMemoryAllocation")));
        assert!(is_answer("cudaPeekAtLastError", None));
        assert!(is_answer("cudaEventQuery", Some("cudaErrorNotReady")));
        assert!(is_answer("cuStreamQuery", Some("CUDA_ERROR_NOT_READY")));
        assert!(!is_answer("cuModuleGetFunction", Some("CUDA_ERROR_NOT_FOUND")));
        assert!(!is_answer("ncclCommInitRank", None));
        // A system that is not ready is a failure, and so is a daemon.
        assert!(!is_answer("cuInit", Some("CUDA_ERROR_SYSTEM_NOT_READY")));
        assert!(!is_answer("cudaSetDevice", Some("cudaErrorMpsServerNotReady")));
    }

    #[test]
    fn names_of_layers() {
        assert!(is_named_as(Layer::RUNTIME, b"cudaMalloc") && !is_named_as(Layer::RUNTIME, b"cuMemAlloc"));
        assert!(is_named_as(Layer::DRIVER, b"cuInit") && !is_named_as(Layer::DRIVER, b"cudbgApiInit"));
        assert!(is_of_cuda("cuInit") && is_of_cuda("cudaMalloc"));
        assert!(!is_of_cuda("cublasCreate") && !is_of_cuda("Foo") && !is_of_cuda("cuda"));
    }

    /// The enums of the headers have the same numbers and names.
    #[test]
    fn numbers_and_enums_are_the_headers() {
        for (value, names) in status::ALL {
            for name in *names {
                let of = |e: &&crate::known::Enum| e.values.contains(&(i64::from(*value), *name));
                assert!(TABLES.enums.iter().any(|e| of(&e)), "{name} = {value}");
            }
        }
        for of in NAMES {
            assert!(TABLES.enums.iter().any(|e| e.name == of.status), "{}", of.status);
        }
        let names = ANSWERS.iter().flat_map(|(_, statuses)| *statuses).filter(|name| **name != "*");
        for name in names {
            assert!(TABLES.enums.iter().any(|e| e.values.iter().any(|(_, known)| known == name)), "{name}");
        }
    }
}
