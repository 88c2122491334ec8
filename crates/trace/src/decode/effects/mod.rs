//! What a call that succeeded changes in the state of its process, by the effects of its description.

pub mod apply;
pub mod logs;
pub mod operands;
