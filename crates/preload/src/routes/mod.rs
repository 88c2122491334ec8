//! One file per way in which a function's address is handed out. Decide by address, not by name: call
//! the real look-up, see which function the answer *is*, hand out its slot. What is not a function of
//! a watched library passes unchanged, and so do return codes, status words and NULL.

pub mod dlopen;
pub mod dlsym;
pub mod export_table;
pub mod first_call;
pub mod hidden;
pub mod proc_address;
