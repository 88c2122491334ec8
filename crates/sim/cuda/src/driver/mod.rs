//! What the simulated driver is made of: one world behind one lock, and rules over it. No function here has a
//! C signature; those stand in `api/`.

pub mod abi;
pub mod address_space;
pub mod allocation;
pub mod capture;
pub mod code;
pub mod config;
pub mod context;
pub mod copy;
pub mod current;
pub mod destroy;
pub mod driver_state;
pub mod engine;
pub mod fault;
pub mod graph;
pub mod lifecycle;
pub mod object;
pub mod pool;
pub mod shape;
pub mod stream;
pub mod task;
pub mod value;
