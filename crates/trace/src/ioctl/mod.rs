//! Data that was kept of a call of the layer `syscall` beside its words. `cutap_rm` knows what the bytes mean.

pub(crate) mod pieces;
