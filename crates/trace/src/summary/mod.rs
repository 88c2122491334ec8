//! Facts at the end of a run beside its calls: calls that never ended or were not recorded, and why.

pub mod counted;
pub mod damage;
pub mod end;
pub mod end_parts;
pub mod filter_outcome;
mod joined;
pub mod noticed;
pub mod program_end;
pub mod run_coverage;
