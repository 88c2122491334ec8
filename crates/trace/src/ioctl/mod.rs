//! What was kept of a call of the layer `kernel` beside its words. What the bytes mean is in `cutap_rm`.

pub(crate) mod pieces;
