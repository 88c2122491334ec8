//! One ring: its chunks and records in order, and which of them are damaged or missing. Records are not interpreted
//! here.

pub mod call_count;
pub mod chunk_file;
pub mod chunk_list;
pub mod damage;
pub mod file;
pub mod lost_calls;
pub mod raw;
pub mod reader;
pub mod tail;
