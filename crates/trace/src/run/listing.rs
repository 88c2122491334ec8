//! How often the directory of a run is listed.

use std::time::{Duration, Instant};

/// When the folder of a run is listed: the longer that takes, the rarer.
#[derive(Debug, Default)]
pub struct Listing(Option<Instant>);

impl Listing {
    /// It is time.
    pub fn is_due(&self) -> bool {
        self.0.is_none_or(|next| Instant::now() >= next)
    }

    /// Lists it.
    pub fn time<T>(&mut self, list: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let listed = list();
        self.0 = Some(Instant::now() + (began.elapsed() * 8).min(Duration::from_millis(100)));
        listed
    }
}
