//! What the dynamic loader knows, and the rewriting of words that it has bound.
//!
//! Rules, each paid for with a hang or a crash (`in-process.md` 1): no lock of ours is held across a
//! loader call; no loader function is called inside a `dl_iterate_phdr` callback; the table of
//! objects is an immutable snapshot; an object is rewritten only after a barrier behind its listing.

pub mod announce;
pub mod elf;
pub mod find_lock;
pub mod forks;
pub mod list;
pub mod live;
pub mod loaded;
pub mod lock;
pub mod map;
pub mod object_names;
pub mod objects;
pub mod place;
pub mod real;
pub mod unwind;
