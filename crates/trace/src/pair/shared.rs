//! Data that the rings of all processes share while they are read.

use crate::event::RunPlace;
use crate::io::clock::Clock;
use crate::symbols::functions::Resolver;
use cutap_stacks::Files;

/// What all rings share.
#[derive(Debug)]
pub struct Shared {
    pub clock: Clock,
    /// The functions of all processes, and the filter.
    pub resolver: Resolver,
    /// Threads that were found.
    pub threads: u32,
    /// The place of the run among those that are read together.
    pub place: RunPlace,
    /// Arguments are to be understood; else their memory is not kept.
    pub decode: bool,
    /// Chunks tell their moments as they are read. Else those of all chunks are known before, so that whoever reads a
    /// run gets the same times, in whatever order it reads.
    pub live: bool,
    /// Files that stacks ask for.
    pub files: Files,
}
