//! A user-space driver for NVIDIA GPUs. It runs CUDA kernels through the kernel driver alone: no libcuda, and no
//! other library of NVIDIA.
//!
//! - [`Gpu`] is a GPU of the machine, [`Gpu::facts`] what the kernel driver says of it.
//! - [`Context`] is an address space of it; [`Memory`], [`Module`], [`Kernel`], [`Stream`] and [`Event`] belong to one.
//! - A [`Fence`] is the only notion of completion.
//!
//! It ran on an H200 with driver 580.159.04. `docs/explanation/cudest.md` explains how a GPU is driven, and lists what
//! is missing.
//!
//! All of it runs on a [`sys::Kernel`]: the real one, or a model of the kernel driver in tests.
#![warn(missing_docs)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

// The pages with examples, so that these are compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
#[doc = include_str!("../../../docs/explanation/cudest.md")]
mod pages {}

mod allocation;
mod attributes;
mod boost;
mod channel;
mod chip;
mod client;
mod context;
mod controls;
mod cooperation;
mod cooperative;
mod copier;
mod cubin;
mod encode;
mod error;
mod event;
mod facts;
mod fault;
mod fence;
mod fork;
mod frees;
mod gpu;
mod kernel;
mod lane;
mod lanes;
mod link;
mod memory;
mod module;
mod physical;
mod pieces;
mod pool;
mod ptx;
mod rectangles;
mod reserve;
mod slots;
mod space;
mod staging;
mod stream;
mod survey;
mod uvm;
mod vmm;
mod wait;

pub use attributes::{DIFFERENCES, Difference};
pub use context::Options;
pub use cubin::{Contents, Entry, Parameter, Variable, contents};
pub use cutap_rm::Fit;
pub use error::{Error, Fault, Loss, Result, SmError};
pub use event::Event;
pub use facts::{Driver, Facts, driver, probe};
pub use fence::Fence;
pub use gpu::{Context, Gpu, HostFence};
pub use lane::Order;
pub use link::Card;
pub use memory::{Kind, Memory};
pub use module::{Kernel, Module, Shape};
pub use slots::Placement;
pub use space::Mode;
pub use stream::{Fill, Rectangle, Stream};
pub use survey::Survey;
pub use vmm::{Addresses, Backing, Mapping};

/// The way to the kernel driver.
pub mod sys {
    pub use crate::kernel::{Kernel, Linux, Node};
}
