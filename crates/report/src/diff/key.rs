//! Which functions of two runs are compared with each other: those of one name in the same library. The version of a
//! library is no part of its name. A runtime belongs to the program, or to the library that it is linked into.

use crate::format::label::short_library;
use crate::nesting::stacks::{frame_name, shown_frames};
use cutap_printable::printable;
use cutap_trace::{Call, Instance, Layer};
use std::sync::Arc;

/// A function of both runs.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionKey {
    pub layer: Layer,
    /// The library without `lib` and its version; empty for the runtime of the program.
    pub library: Arc<str>,
    pub name: Arc<str>,
    /// The function that made the call, if calls are counted by it; none without a stack.
    pub caller: Option<Arc<str>>,
}

impl FunctionKey {
    /// The function of a call.
    pub fn of(call: &Call, caller: Option<Arc<str>>) -> FunctionKey {
        let function = &call.function;
        FunctionKey {
            layer: function.layer,
            library: stem(function.layer, &function.library).into(),
            name: function.demangled.as_ref().unwrap_or(&function.name).clone(),
            caller,
        }
    }

    /// The name, the library in brackets if the name does not show it, and the caller.
    pub fn text(&self) -> String {
        let function = self.function_text();
        self.caller.as_ref().map_or(function.clone(), |caller| format!("{function} in {}", printable(caller)))
    }

    fn function_text(&self) -> String {
        let starts =
            || self.name.get(..self.library.len()).is_some_and(|start| start.eq_ignore_ascii_case(&self.library));
        match self.layer {
            Layer::DRIVER => self.name.to_string(),
            _ if self.library.is_empty() || self.layer == Layer::LIBRARY && starts() => self.name.to_string(),
            _ => format!("{} [{}]", self.name, self.library),
        }
    }
}

/// How names of functions inside NVIDIA's static runtime begin.
const STATIC_RUNTIME: &str = "libcudart_static_";

/// The function of the program that made a call, by the call's stack, and the one that called it. Many programs make all
/// calls of CUDA in one function that checks the status.
pub fn caller(call: &Call) -> Option<Arc<str>> {
    let frames = shown_frames(&call.stack()?.frames);
    let caller = frame_name(frames.first()?);
    // A call of the driver inside a static runtime, which has no stack inside a shared one.
    if caller.starts_with(STATIC_RUNTIME) {
        return None;
    }
    Some(match frames.get(1) {
        Some(above) => format!("{caller}, from {}", frame_name(above)).into(),
        None => caller.into(),
    })
}

/// The name of a library that two versions of it share. A runtime in an executable or in libcudart is the program's.
fn stem(layer: Layer, library: &str) -> &str {
    let stem = short_library(library);
    match layer {
        Layer::RUNTIME if !library.contains(".so") || stem == "cudart" || stem.starts_with("cudart-") => "",
        _ => stem,
    }
}

/// The version of the library that a call went to, in words. Runtimes have a number, libraries have it in their names.
pub fn version(call: &Call, instance: Option<&Instance>) -> String {
    match instance {
        Some(runtime) => {
            format!("{} ({})", runtime.version.as_deref().unwrap_or("of an unknown version"), runtime.linkage())
        }
        None => call.function.library.to_string(),
    }
}

/// What [`version`] is the version of: words before it.
pub fn versioned(layer: Layer, library: &str) -> String {
    match (layer, library) {
        (Layer::RUNTIME, "") => "runtime ".to_owned(),
        (Layer::RUNTIME, library) => format!("runtime in {library} "),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_without_versions() {
        for (layer, library, expected) in [
            (Layer::RUNTIME, "app1", ""),
            (Layer::RUNTIME, "libcudart.so.13", ""),
            (Layer::RUNTIME, "libcudart-d0da41ae.so.11.0", ""),
            (Layer::RUNTIME, "libcublas.so.12", "cublas"),
            (Layer::LIBRARY, "libcublas.so.12", "cublas"),
            (Layer::LIBRARY, "libcublas.so.13", "cublas"),
            (Layer::LIBRARY, "libcublasLt.so.13", "cublasLt"),
        ] {
            assert_eq!(stem(layer, library), expected, "{library}");
        }
    }

    #[test]
    fn text_names_the_library_where_the_name_does_not() {
        let text = |layer, library: &str, name: &str| {
            FunctionKey { layer, library: library.into(), name: name.into(), caller: None }.text()
        };
        assert_eq!(text(Layer::RUNTIME, "", "cudaMalloc"), "cudaMalloc");
        assert_eq!(text(Layer::RUNTIME, "cublas", "cudaMalloc"), "cudaMalloc [cublas]");
        assert_eq!(text(Layer::LIBRARY, "cublas", "cublasCreate_v2"), "cublasCreate_v2");
        assert_eq!(text(Layer::DRIVER, "cuda", "cuInit"), "cuInit");
    }
}
