//! The model of the kernel driver in a process, by `LD_PRELOAD`: a real libcuda runs on it.
//!
//! Functions of libc that open, ask or use a file of NVIDIA's driver are answered here. All else goes to the kernel. A
//! node is a memfd, so descriptors and mappings are real. A real driver of the machine is not reached.
//!
//! `KERNEL_MODEL_VERSION`: the driver's version, 580.159.04 unless it is set. `KERNEL_MODEL_LOG`: a file to which each
//! request is written that had no exact answer. `KERNEL_MODEL_RUN`: a run of `cutap syscall trace --json` whose answers
//! replace those of the recorded runs. `KERNEL_MODEL_FAULT`: `31@5` ends the fifth launch with Xid 31.

mod entries;
mod files;
mod process;
mod state;
