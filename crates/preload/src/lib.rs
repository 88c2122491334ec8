#![no_std]
//! The library inside the target: it moves words and never ends the program.
