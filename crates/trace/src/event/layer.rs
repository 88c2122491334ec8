//! The layers of CUDA that a function can belong to.

pub use cutap_calls::Layer;

/// The layer of a number in a names file. An object without a layer is treated as a toolkit library.
pub(crate) fn of_number(number: u8) -> Layer {
    Layer::of_number(number).unwrap_or(Layer::LIBRARY)
}
