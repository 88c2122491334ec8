//! The name of a function in tables. A function of several processes, or of a library that was loaded twice, has one
//! label. Functions of two runtimes have two.

use cutap_trace::{Call, DEFAULT_DOMAIN, Function, Instance, Layer};
use std::sync::Arc;

/// The name, with what distinguishes functions of one name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label {
    pub layer: Layer,
    pub library: Arc<str>,
    /// Version of the runtime that it belongs to.
    pub runtime: Option<Box<str>>,
    pub name: Arc<str>,
}

impl Label {
    /// The label of a function, whose calls went to this instance.
    pub fn new(function: &Function, instance: Option<&Instance>) -> Label {
        Label {
            layer: function.layer,
            library: function.library.clone(),
            runtime: instance.or(function.instance.as_deref()).and_then(|i| i.version.clone()),
            name: function.demangled.as_ref().unwrap_or(&function.name).clone(),
        }
    }

    /// The library in brackets, after the name.
    pub fn tag(&self) -> String {
        tag(self.layer, &self.library, self.runtime.as_deref())
    }

    /// The same in a table.
    pub fn short_tag(&self) -> String {
        short_tag(self.layer, &self.library, self.runtime.as_deref(), &self.name)
    }

    /// Name and tag.
    pub fn text(&self) -> String {
        format!("{}{}", self.name, self.tag())
    }
}

/// The library in the brackets of one call. All hidden functions are the driver's, so the library that calls them tells
/// more.
pub fn library_of(call: &Call) -> &str {
    call.caller_library.as_ref().unwrap_or(&call.function.library)
}

/// The tag of a table: ` [cublas 12.9]` for a runtime that is linked into libcublas.so.12. A library's function whose
/// name begins with that of the library has none.
pub fn short_tag(layer: Layer, library: &str, runtime: Option<&str>, name: &str) -> String {
    let short = short_library(library);
    match (layer, runtime) {
        (Layer::DRIVER, _) => String::new(),
        (Layer::NVTX, _) if library == DEFAULT_DOMAIN => String::new(),
        (_, Some(version)) => format!(" [{short} {version}]"),
        (Layer::LIBRARY, _) if name.get(..short.len()).is_some_and(|start| start.eq_ignore_ascii_case(short)) => {
            String::new()
        }
        _ => format!(" [{short}]"),
    }
}

/// `cublasLt` of `libcublasLt.so.13`.
pub fn short_library(library: &str) -> &str {
    let name = library.split(".so").next().unwrap_or(library);
    name.strip_prefix("lib").filter(|name| !name.is_empty()).unwrap_or(name)
}

/// ` [library, runtime 12.9]`; nothing for the driver.
pub fn tag(layer: Layer, library: &str, runtime: Option<&str>) -> String {
    match (layer, runtime) {
        (Layer::DRIVER, _) => String::new(),
        (_, Some(version)) => format!(" [{library}, runtime {version}]"),
        _ => format!(" [{library}]"),
    }
}
