//! Captures of streams into graphs.

use super::handle::Handle;

/// What a node comes after, with CUgraphEdgeData.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edge {
    pub from: Handle,
    pub data: [u8; 8],
}

impl From<Handle> for Edge {
    fn from(from: Handle) -> Self {
        Edge { from, data: [0; 8] }
    }
}

/// A capture that has begun and not ended.
pub struct Capture {
    pub graph: Handle,
    /// The stream where it began and must end.
    pub stream: Handle,
    pub mode: u32,
    pub thread: u64,
    pub broken: bool,
    /// The program made the graph, so that the capture must not destroy it.
    pub into_existing: bool,
}

/// The position of a stream or an event in a capture: the next node comes after these.
#[derive(Clone, Default)]
pub struct CapturePosition {
    pub capture: u64,
    pub after: Vec<Edge>,
}
