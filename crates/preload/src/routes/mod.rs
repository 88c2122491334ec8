//! One file per way in which a function's address is handed out. Decide by address, not by name: call
//! the real look-up, see which function the answer *is*, hand out its slot. What is not a function of
//! a watched library passes unchanged, and so do return codes, status words and NULL.

pub mod call_stack;
pub mod callback_record;
pub mod callbacks;
pub mod discover;
pub mod dlsym;
pub mod export_table;
pub mod first_call;
mod function;
pub mod handles;
pub mod hidden;
pub mod instances;
mod kernel_name_x86_64;
pub mod libc;
pub mod loaded_file;
pub mod own_calls;
pub mod proc_address;
mod ptx;
mod reports_x86_64;
pub mod stubs;
pub mod suppress;
