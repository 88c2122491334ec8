//! Whole outputs of runs that were written by the writers of `cutap-wire`.

mod again;
mod carried;
mod chrome;
mod common;
mod conditions;
mod ends;
mod following;
mod golden;
mod kernels;
mod launches;
mod leaks;
mod libraries;
mod live;
mod memory;
mod more_libraries;
mod programs;
mod speed;
mod values;
