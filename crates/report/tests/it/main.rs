//! Whole outputs of runs that were written by the writers of `cutap-wire`. There is a file for each family of functions
//! (`memory`, `launches`, `cublas`). Others are for an output (`outputs`, `footer`, `chrome`).

mod allocations;
mod any;
mod chrome;
mod compilers;
mod cublas;
mod cudnn;
mod cufft;
mod cusolver;
mod cusparse;
mod diff;
mod ended_calls;
mod explain;
mod filters;
mod fold;
mod footer;
mod fuzz;
mod gpu_time;
mod graphs;
mod handles;
mod hang;
mod kernels;
mod launches;
mod leaks;
mod live;
mod memory;
mod nccl;
mod outputs;
mod ranges;
mod reused;
mod speed;
mod support;
mod undecoded;
mod unfinished;
mod values;
