//! strace + ltrace + policy for CUDA.
fn main() {}
