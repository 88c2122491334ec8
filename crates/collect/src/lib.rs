//! Owns the traced child and the run folder.
