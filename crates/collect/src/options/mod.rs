//! What a person asked for, parsed and checked: filter, full rings, stacks, the simulated machine.

pub mod capture_range;
pub mod driver_choice;
pub mod filter;
pub mod overflow_policy;
pub mod python;
pub mod simulated;
pub mod stacks;
