//! The program: found, checked, prepared and started, with the state that it would have without cutap.

pub mod driver;
pub mod environment;
pub mod exit_kind;
pub mod inherited_timers;
pub mod injection_way;
pub mod launch;
pub mod program;
pub mod rpath;
pub mod signals;
pub mod startup_state;
pub mod unpack;
