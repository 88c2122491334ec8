//! From events to one output; no decoding.
