//! Which calls a run records. A call that is missing in a trace must not be reported as missing in the program.

use crate::event::Layer;
use std::fmt;
use std::sync::Arc;

/// Answers for a function, by its layer, library and name.
type Predicate = dyn Fn(Layer, &str, &str) -> bool + Send + Sync;

/// The functions whose calls are recorded.
#[derive(Clone)]
pub struct RecordedCalls(Option<Arc<Predicate>>);

impl RecordedCalls {
    /// Those of all functions.
    pub fn all() -> RecordedCalls {
        RecordedCalls(None)
    }

    /// Those of some functions.
    pub fn matching(has: impl Fn(Layer, &str, &str) -> bool + Send + Sync + 'static) -> RecordedCalls {
        RecordedCalls(Some(Arc::new(has)))
    }

    pub fn includes_all(&self) -> bool {
        self.0.is_none()
    }

    pub fn has(&self, layer: Layer, library: &str, name: &str) -> bool {
        self.0.as_ref().is_none_or(|has| has(layer, library, name))
    }
}

impl fmt::Debug for RecordedCalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.includes_all() { "all calls" } else { "some calls" })
    }
}
