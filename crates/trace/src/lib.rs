//! From bytes to typed events: pair, order, align clocks, name.
//!
//! [`EventReader`] reads a run directory, while it is written or after, and hands out [`Event`]s in time order.
//! Everything read here was written by a process that may have died at any byte, or that wants to
//! harm: nothing panics on bytes, nothing is mapped, every number is checked before it is used as a
//! size. Nothing here formats a line; that is `cutap-report`.

mod active_sources;
mod aggregator;
mod ahead;
mod bytes;
mod cached_file;
mod call_builder;
mod calls;
mod clock;
mod counted;
mod damage;
pub mod decode;
mod delivered;
mod end;
mod error;
mod evaluate;
mod event;
mod event_reader;
mod exhausted;
mod filter;
mod folder;
mod index;
mod kernels;
mod loaded;
#[cfg(feature = "made")]
pub mod made;
mod named;
mod names;
mod names_file;
mod noticed;
mod pages;
mod ptx;
mod reader_options;
mod recorded;
mod results;
mod ring;
mod ring_file;
mod run_reader;
mod source;
mod stacked;
mod store;
mod unseen;

pub use active_sources::{Listing, is_gone, living};
pub use aggregator::{Aggregator, CallSink, FinishedCall, KernelLaunch};
pub use cached_file::CachedFile;
pub use clock::Rate;
pub use counted::Counted;
pub use cutap_file::{Cut, Why};
pub use cutap_printable::printable;
pub use cutap_stacks::{Absent, End as StackEnd, Frame, Stack};
pub use damage::damaged;
pub use delivered::Delivered;
pub use end::{Count, Diagnostic, End, Filtered, Recording, Switched, SwitchedTo};
pub use error::Error;
pub use event::{
    Answer, Args, Call, DriverArgs, Event, Exit, Function, HookAction, Hooked, Instance, Layer, Log, Lookup,
    LookupKind, Module, Process, State, Thread,
};
pub use event_reader::EventReader;
pub use exhausted::{forget_short, is_short, list, short_of};
pub use filter::{Filter, FilterError, Wanted, wanted};
pub use named::is_whole;
pub use noticed::{noticed, overview};
pub use pages::{ChunkPage, RingPage};
pub use reader_options::ReaderOptions;
pub use results::{Returned, Returns};
pub use ring::in_order;
pub use ring_file::RingFile;
pub use run_reader::RunReader;
pub use store::{Bytes, open_file, read_file};
pub use unseen::Unseen;
