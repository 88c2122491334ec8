//! A run in the format of another program: one file per format, each an [`crate::Output`] that writes
//! as it is told and keeps nothing of a call that is over.

mod chrome;
mod flows;
mod perfetto;
mod proto;

pub use chrome::Chrome;
pub use perfetto::Perfetto;
