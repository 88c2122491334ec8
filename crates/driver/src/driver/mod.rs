//! What driver calls mean: rules over the objects in `state/`. The files are in layers: memory and copies, then graphs
//! and captures, then streams and contexts. No function here has a C signature, and none may call `api/`.

pub mod address_space;
pub mod allocation;
pub mod capture;
pub mod capture_status;
pub mod code;
pub mod context;
pub mod copy;
pub mod current;
pub mod destroy;
pub mod device;
pub mod graph;
pub mod lower;
pub mod occupancy;
pub mod order;
pub mod profiled;
pub mod submit;
pub mod user_object;
pub mod words;
