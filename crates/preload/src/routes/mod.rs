//! One file per way in which a function's address is handed out. Decide by address, not by name: call
//! the real look-up, see which function the answer *is*, hand out its slot. What is not a function of
//! a watched library passes unchanged, and so do return codes, status words and NULL.

pub mod callbacks;
pub mod dlsym;
pub mod export_table;
pub mod first_call;
pub mod footprint;
mod function;
pub mod handles;
pub mod instances;
pub mod introduced;
mod kernel_name_x86_64;
pub mod proc_address;
mod ptx;
pub mod quiet;
mod reports_x86_64;
pub mod stacked;
