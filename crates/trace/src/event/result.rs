//! The meaning of a result register. Nearly every CUDA function returns a status. The others are named here, so that a
//! version number or an address is never marked as an error.

use super::described::Described;
use super::value::name_of;
use cutap_calls::Layer;
use cutap_calls::generated::known::TABLES;
use cutap_calls::hidden::slot_named;
use cutap_calls::known::Type;
use cutap_calls::{Role, has_role};

/// What a function returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Returns {
    /// A status: 0 is success.
    Status,
    /// A number or an address.
    Value,
    /// A float, or two: in vector registers, which are kept with the call as memory is.
    Elsewhere,
    /// Nothing: the register holds what was left there.
    Nothing,
}

/// A result, read as its function means it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Returned {
    /// A status.
    Status(i32),
    /// A small number.
    Number(u64),
    /// An address, or something as large.
    Word(u64),
    /// Nothing.
    Nothing,
    /// Something that the result register does not tell: a runtime that is linked in reports no result but a status,
    /// and what vector registers held is kept elsewhere.
    Unreported,
}

/// What a function returns as its description has it.
pub fn returns_type(described: Described) -> Option<Returns> {
    let tables = described.tables;
    Some(match tables.types.get(usize::from(described.function.returns))? {
        Type::Status(_) => Returns::Status,
        Type::Void => Returns::Nothing,
        Type::Float(_) | Type::BFloat16 => Returns::Elsewhere,
        // Two numbers: a complex one.
        Type::Struct(n) if tables.structs.get(usize::from(*n)).is_some_and(|s| s.size <= 16) => Returns::Elsewhere,
        _ => Returns::Value,
    })
}

/// What a function returns that has no description: by its role in `api/behaviour.toml`, or by its slot of a hidden
/// table.
pub fn returns(layer: Layer, name: &str) -> Returns {
    let has = |role| has_role(name.as_bytes(), role);
    match () {
        () if layer == Layer::HIDDEN => match slot_named(name).is_some_and(|slot| slot.status) {
            true => Returns::Status,
            false => Returns::Value,
        },
        () if layer == Layer::NVTX => Returns::Nothing,
        () if has(Role::ReturnsNothing) => Returns::Nothing,
        () if has(Role::ReturnsText) || has(Role::ReturnsNumber) => Returns::Value,
        () => Returns::Status,
    }
}

/// The name of a status of a function that no header declares (cuEGLApiInit), by `[[names]]` of `api/behaviour.toml`.
pub fn undeclared_status(layer: Layer, name: &str, status: i32) -> Option<&'static str> {
    let of = cutap_calls::undeclared_status(layer, name)?;
    name_of(TABLES.enums.iter().find(|e| e.name == of)?, status.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds() {
        assert_eq!(returns(Layer::DRIVER, "cuGetErrorString"), Returns::Status);
        assert_eq!(returns(Layer::RUNTIME, "cudaGetErrorString"), Returns::Value);
        assert_eq!(returns(Layer::RUNTIME, "cudaGetLastError"), Returns::Status);
        assert_eq!(returns(Layer::LIBRARY, "cudnnGetVersion"), Returns::Value);
        assert_eq!(returns(Layer::RUNTIME, "__cudaRegisterFunction"), Returns::Nothing);
    }

    #[test]
    fn results_in_other_registers() {
        let of = |library: &str, name: &str| {
            let (function, version) =
                crate::event::described::find(&TABLES, Layer::LIBRARY, library, name, None).unwrap();
            let words = crate::event::described::WordSource::Block;
            returns_type(Described { function, tables: &TABLES, version, words }).unwrap()
        };
        for name in ["cublasSdot", "cublasDnrm2", "cublasCdotc", "cublasZdotc"] {
            assert_eq!(of("libcublas.so.12", name), Returns::Elsewhere, "{name}");
        }
        assert_eq!(of("libcublas.so.12", "cublasGetCudartVersion"), Returns::Value);
        assert_eq!(of("libcudart.so.13", "cudaCreateChannelDesc"), Returns::Value);
    }

    #[test]
    fn results_of_what_no_header_declares() {
        assert_eq!(undeclared_status(Layer::DRIVER, "cuEGLApiInit", 801), Some("CUDA_ERROR_NOT_SUPPORTED"));
        assert_eq!(undeclared_status(Layer::DRIVER, "cuMemGetAttribute", 0), Some("CUDA_SUCCESS"));
        assert_eq!(undeclared_status(Layer::RUNTIME, "cudaSubgridCreate", 1), Some("cudaErrorInvalidValue"));
        // The debugger's own functions have separate results.
        assert_eq!(undeclared_status(Layer::DRIVER, "cudbgApiInit", 1), None);
        assert_eq!(undeclared_status(Layer::LIBRARY, "cudaLike", 1), None);
    }
}
