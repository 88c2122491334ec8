//! What a file on disk tells about its system calls: the places in its code that call ioctl, mmap and getenv, and the
//! names of environment variables. The file is never loaded or run.

mod binary;
pub mod env;
pub mod sites;

pub use binary::Binary;
