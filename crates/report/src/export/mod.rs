//! A run in the format of another program: one file per format, each an [`crate::Output`] that writes
//! as it is reported and keeps nothing of a call that has ended.

mod chrome;
mod flows;
mod perfetto;
mod proto;

pub use chrome::Chrome;
pub use perfetto::Perfetto;
