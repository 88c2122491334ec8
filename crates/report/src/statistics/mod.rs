//! Sums of many calls, and the tables and trees that show them.

pub mod by_table;
pub mod call_stats;
pub mod call_tree;
pub mod called_paths;
pub mod failures;
pub mod histogram;
pub mod idle;
pub mod lines;
pub mod off_times;
pub mod path_tree;
pub mod rows;
pub mod steps;
pub mod streams;
pub mod table;
pub mod tables;
