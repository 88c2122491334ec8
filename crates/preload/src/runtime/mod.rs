//! CUDA runtimes: the instances in this process, what they report, and which driver calls and reports exist only
//! because cutap watches.

pub mod callback_record;
pub mod callbacks;
pub mod discover;
pub mod function;
pub mod instances;
pub mod own_calls;
pub mod own_calls_gate;
pub mod rules;
pub mod suppress;
