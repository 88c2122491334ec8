//! The process: pages of host memory, copies of bytes, words in memory, the driver's thread. The front and its engines
//! use it. It must not know objects of the driver or decide whether an operation is allowed.

pub mod injection;
pub mod pages;
pub mod profiler;
pub mod rows;
pub mod thread;
pub mod word;
