//! The only code that knows the syntax of api/.
