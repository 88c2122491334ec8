//! What all other folders use: errors and their sentences, the user, and whether a path can be trusted.

pub mod default_name;
pub mod error;
pub mod host_facts;
pub mod nearest;
pub mod trusted;
pub mod user;
