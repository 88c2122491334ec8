//! The layers of CUDA that a function can belong to.

use cutap_wire::names::layer;

/// The layer of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Layer {
    /// A toolkit library.
    Library,
    /// The runtime API.
    Runtime,
    /// The driver API.
    Driver,
}

impl Layer {
    /// Its number in names files and in the rules of a filter.
    pub(crate) fn number(self) -> u8 {
        match self {
            Layer::Library => layer::LIBRARY,
            Layer::Runtime => layer::RUNTIME,
            Layer::Driver => layer::DRIVER,
        }
    }

    /// The layer of a number. An object without a layer is treated as a toolkit library.
    pub(crate) fn of_number(number: u8) -> Layer {
        match number {
            layer::RUNTIME => Layer::Runtime,
            layer::DRIVER => Layer::Driver,
            _ => Layer::Library,
        }
    }

    /// Its word in filters and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Layer::Library => "library",
            Layer::Runtime => "runtime",
            Layer::Driver => "driver",
        }
    }
}
