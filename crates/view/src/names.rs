//! The names of what is drawn, each once: functions, kernels, ranges. A number stands for a name everywhere else.

use cutap_trace::Function;
use foldhash::HashMap;
use serde_json::{Value, json};

/// A name, its layer and its library.
type Name = (Box<str>, &'static str, Box<str>);

/// The layer of what is no call.
pub const GPU: &str = "gpu";

/// All names.
#[derive(Debug, Default)]
pub struct Names {
    names: Vec<Name>,
    numbers: HashMap<Name, u32>,
    /// By the function's key.
    functions: Vec<Option<u32>>,
}

impl Names {
    /// The number of a function's name.
    pub fn function(&mut self, function: &Function) -> u32 {
        let key = function.key as usize;
        if let Some(Some(number)) = self.functions.get(key) {
            return *number;
        }
        let number = self.number(function.display_name(), function.layer.name(), &function.library);
        if key >= self.functions.len() {
            self.functions.resize(key + 1, None);
        }
        self.functions[key] = Some(number);
        number
    }

    /// The number of what the GPU did.
    pub fn work(&mut self, text: &str) -> u32 {
        self.number(text, GPU, "")
    }

    fn number(&mut self, text: &str, layer: &'static str, library: &str) -> u32 {
        let name: Name = (text.into(), layer, library.into());
        if let Some(number) = self.numbers.get(&name) {
            return *number;
        }
        let number = self.names.len() as u32;
        self.names.push(name.clone());
        self.numbers.insert(name, number);
        number
    }

    /// For the page: a list of name, layer, library.
    pub fn json(&self) -> Value {
        self.names.iter().map(|(text, layer, library)| json!([text, layer, library])).collect()
    }
}
