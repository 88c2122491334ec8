//! The driver's objects as data, one file per concept, and the one lock around all of them. A file must not decide
//! what a driver call means, and must not wait or start work: that is `driver/`.

mod array;
mod capture;
mod code;
mod context;
mod driver_state;
mod graph;
mod handle;
mod host_function;
mod memory;
mod pool;
mod reservation;
mod shape;
mod stream;
mod task;

pub use array::{Array, TextureObject, TextureReference};
pub use capture::{Capture, CapturePosition, Edge};
pub use code::{Function, Library, Link, Module};
pub use context::{Context, Destructor, GreenContext, Stored};
pub use driver_state::{CHANGED, DriverState, Guard, driver_state};
pub use graph::{Executable, Graph, Node, UserObject};
pub use handle::{Handle, lookup, lookup_mut};
pub use host_function::{Data, HostFunction, StreamCallback};
pub use memory::{Advice, Allocation, GraphMemory, Kind};
pub use pool::Pool;
pub use reservation::{Mapping, Piece, Properties};
pub use shape::{Copy2D, Copy3D, Plane3D, PlaneKind, Set, Side};
pub use stream::{Event, Operation, Stream, Work};
pub use task::{Arguments, Launch, Part, Parts, Task};
