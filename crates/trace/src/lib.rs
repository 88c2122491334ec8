//! From bytes to typed events: pair, order, align clocks, name.
//!
//! [`Follow`] reads a run folder, while it is written or after, and hands out [`Event`]s in time order.
//! Everything read here was written by a process that may have died at any byte, or that wants to
//! harm: nothing panics on bytes, nothing is mapped, every number is checked before it is used as a
//! size. Nothing here formats a line; that is `cutap-report`.

mod ahead;
mod begun;
mod bytes;
mod calls;
mod clock;
mod counted;
mod damage;
pub mod decode;
mod end;
mod error;
mod event;
mod filter;
mod folder;
mod follow;
mod follow_options;
mod going;
mod handed;
mod held;
mod index;
mod judge;
mod kernels;
mod loaded;
#[cfg(feature = "made")]
pub mod made;
mod named;
mod names;
mod names_file;
mod noticed;
mod opened;
mod pages;
mod ptx;
mod recorded;
mod results;
mod ring;
mod ring_file;
mod scan;
mod short;
mod source;
mod stacked;
mod store;
mod unseen;

pub use clock::Rate;
pub use counted::Counted;
pub use cutap_file::{Cut, Why};
pub use cutap_printable::printable;
pub use cutap_stacks::{Absent, End as StackEnd, Frame, Stack};
pub use damage::damaged;
pub use end::{Count, End, Filtered, Gap, Recording, Switched, SwitchedTo};
pub use error::Error;
pub use event::{
    Answer, Args, Call, Did, Event, Exit, Function, Hooked, Instance, Launched, Layer, Log, Lookup, LookupKind, Module,
    Process, State, Thread,
};
pub use filter::{Filter, FilterError, Wanted, wanted};
pub use follow::Follow;
pub use follow_options::FollowOptions;
pub use going::{Listing, is_gone, living};
pub use handed::Handed;
pub use held::Held;
pub use named::is_whole;
pub use noticed::{noticed, overview};
pub use opened::Opened;
pub use pages::{ChunkPage, RingPage};
pub use results::{Returned, Returns};
pub use ring::in_order;
pub use ring_file::RingFile;
pub use scan::{Calls, Done, KernelLaunch, Scan};
pub use short::{forget_short, is_short, list, short_of};
pub use store::{Bytes, open_file, read_file};
pub use unseen::Unseen;
