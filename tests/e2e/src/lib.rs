//! Real programs under cutap, compared with golden text.
