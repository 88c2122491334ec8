//! What a function is called in a table: the same function in several processes, or loaded twice, has
//! the same label; one of two runtimes has two.

use cutap_trace::{Function, Instance, Layer};
use std::sync::Arc;

/// A function for people.
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

    /// What stands behind the name: ` [library, runtime 12.9]`; nothing for the driver.
    pub fn tag(&self) -> String {
        match (self.layer, &self.runtime) {
            (Layer::DRIVER, _) => String::new(),
            (_, Some(version)) => format!(" [{}, runtime {version}]", self.library),
            _ => format!(" [{}]", self.library),
        }
    }

    /// Name and tag.
    pub fn text(&self) -> String {
        format!("{}{}", self.name, self.tag())
    }
}
