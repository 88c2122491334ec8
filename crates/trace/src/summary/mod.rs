//! What is known at the end of a run beside its calls: what never ended, what was not recorded, and why.

pub mod counted;
pub mod damage;
pub mod end;
pub mod noticed;
pub mod unseen;
