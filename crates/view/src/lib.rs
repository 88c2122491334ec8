//! A recording as one page of HTML: sums of the reports, the calls over time, and what draws them. This crate gets
//! events and hands out bytes. It reads no run directory and knows no command line.
//!
//! [`Picture`] collects. Its sums are those of `cutap-report`, line for line. Calls over time are bounded: the longest,
//! the failed and the waiting ones are kept, and of the others sums in bins. `page/` has the code of the page, which
//! `cargo xtask page` joins into `page.html`.

mod boxes;
mod call_fan;
mod columns;
mod difference;
mod dropped;
mod held;
mod html;
mod kept;
mod lanes;
mod names;
mod paths;
mod picture;
mod sections;
mod timeline;

pub use call_fan::CallFan;
pub use difference::Difference;
pub use html::{MOST_BYTES, Page};
pub use picture::{About, Picture};
