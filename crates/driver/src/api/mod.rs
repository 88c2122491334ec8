//! The driver functions that are implemented, each under the name of its export, grouped by subject. A function
//! converts the arguments of its C prototype, calls the rules in `driver/`, and returns a result. Objects and rules
//! must not be here.
//!
//! `xtask codegen` finds the functions by their first line (`pub extern "C" fn NAME(`) and lets the exports jump to
//! them. A per-thread form (`_ptsz`, `_ptds`) shares the function.

#![allow(non_snake_case, missing_docs)]

pub mod arrays;
pub mod capture;
pub mod context;
pub mod copies;
pub mod deprecated;
pub mod device;
pub mod events;
pub mod functions;
pub mod graph_dot;
pub mod graph_edges;
pub mod graph_exec;
pub mod graph_memory;
pub mod graph_nodes;
pub mod graph_params;
pub mod graphs;
pub mod green_contexts;
pub mod init;
pub mod launch;
pub mod libraries;
pub mod linker;
pub mod logs;
pub mod managed;
pub mod mem_batch;
pub mod memory;
pub mod mipmaps;
pub mod modules;
pub mod peers;
pub mod pointers;
pub mod pools;
pub mod primary;
pub mod proc_address;
pub mod reservations;
pub mod sets;
pub mod sharing;
pub mod stream_memory;
pub mod streams;
pub mod tensor_maps;
pub mod textures;
pub mod user_objects;
pub mod volumes;
