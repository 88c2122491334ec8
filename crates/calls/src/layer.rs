//! The layer of a function. The layers themselves are data: `api/layers.toml`.

use crate::generated::layers::{ABOUT, LAYERS};

/// A layer, such as `Layer::DRIVER`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Layer(pub(crate) u8);

/// What `api/layers.toml` says of a layer.
#[derive(Debug)]
pub struct LayerRow {
    pub layer: Layer,
    /// Its name in filters and JSON.
    pub name: &'static str,
    /// Its letter in the rules of a filter.
    pub letter: u8,
    /// Recorded only where a rule names the layer itself.
    pub opt_in: bool,
}

impl Layer {
    /// All layers, from the outermost to the innermost.
    pub fn all() -> impl Iterator<Item = Layer> {
        LAYERS.iter().map(|row| row.layer)
    }
    /// The number in recordings.
    pub const fn number(self) -> u8 {
        self.0
    }
    /// The bit in the hook API.
    pub const fn bit(self) -> u32 {
        1 << (self.0 - 1)
    }
    /// The name in filters and JSON.
    pub fn name(self) -> &'static str {
        self.row().map_or("", |row| row.name)
    }
    /// The letter in the rules of a filter.
    pub fn letter(self) -> char {
        self.row().map_or('?', |row| row.letter as char)
    }
    /// Whether it is recorded only where a rule names it.
    pub fn is_asked(self) -> bool {
        self.row().is_some_and(|row| row.opt_in)
    }
    /// One line for people.
    pub fn about(self) -> &'static str {
        ABOUT.get(usize::from(self.0).wrapping_sub(1)).copied().unwrap_or("")
    }
    pub fn of_number(number: u8) -> Option<Layer> {
        LAYERS.iter().map(|row| row.layer).find(|layer| layer.0 == number)
    }
    pub fn of_letter(letter: u8) -> Option<Layer> {
        LAYERS.iter().find(|row| row.letter == letter).map(|row| row.layer)
    }
    pub fn of_name(name: &str) -> Option<Layer> {
        LAYERS.iter().find(|row| row.name == name).map(|row| row.layer)
    }
    /// The layer of a family of functions in `api/`: each toolkit library is a family with its name.
    pub fn of_family(family: &str) -> Layer {
        Layer::of_name(family).unwrap_or(Layer::LIBRARY)
    }
    fn row(self) -> Option<&'static LayerRow> {
        LAYERS.iter().find(|row| row.layer == self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_letters_and_names_lead_back() {
        for layer in Layer::all() {
            assert_eq!(Layer::of_number(layer.number()), Some(layer));
            assert_eq!(Layer::of_letter(layer.letter() as u8), Some(layer));
            assert_eq!(Layer::of_name(layer.name()), Some(layer));
            assert!(layer.about().ends_with('.'), "{}", layer.name());
        }
        assert_eq!((Layer::of_number(0), Layer::of_name("")), (None, None));
        assert_eq!((Layer::of_family("driver"), Layer::of_family("cublas")), (Layer::DRIVER, Layer::LIBRARY));
    }
}
