//! The driver functions that are written by hand, each under the name of its export; a function's group is its
//! file. `xtask codegen` finds them by their first line (`pub extern "C" fn NAME(`) and makes the exports jump here.
//! The arguments are those of the C prototype. A per-thread form (`_ptsz`, `_ptds`) shares the function.

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
