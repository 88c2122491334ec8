//! The process that asks NVML for the clocks of the GPUs once a second (`cutap __gpu-clocks`). The collector starts
//! it in runs with `--gpu-time`, and kills it at the end.
//!
//! It is a process and no thread, because NVML is foreign code that may hang in the kernel, crash, or start programs.
//! Nothing of that may reach the collector, which must lose no record.
//!
//! It writes records ([`cutap_wire::gpu_clocks`]) to its standard output, which is the file of the run. It must not
//! write anything else, change anything of a GPU, or outlive the collector.

mod clock_log;
mod nvml;
mod sampler;

pub use sampler::sample_clocks;
