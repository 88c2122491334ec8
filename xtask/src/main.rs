//! What a maintainer or CI runs.
fn main() {}
