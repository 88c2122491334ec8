//! The bytes of a record, a ring and the run folder: writer and reader side by side.
