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

mod base;
mod context;
mod cubin;
mod encode;
mod kernel_driver;
mod machine;
mod memory;
mod streams;
mod submission;

pub use base::error::{Error, Fault, Loss, Result, SmError};
pub use context::context_memory::{Kind, Memory};
pub use context::shared::{Direction, Options};
pub use cubin::{Contents, Entry, Parameter, Variable, contents};
pub use cutap_rm::Fit;
pub use kernel_driver::facts::{Driver, Facts, driver, probe};
pub use kernel_driver::link::Card;
pub use machine::attributes::{DIFFERENCES, Difference};
pub use machine::gpu::{Context, Gpu};
pub use machine::host::{HostFence, HostTimeline};
pub use machine::survey::Survey;
pub use machine::vmm::{Addresses, Backing, Mapping};
pub use memory::space::Mode;
pub use streams::event::Event;
pub use streams::module::{Kernel, LaunchAttributes, Module, Shape};
pub use streams::ptx::compile;
pub use streams::stream::{Fill, Rectangle, Stream};
pub use submission::fence::Fence;
pub use submission::lane::Order;
pub use submission::slots::Placement;

pub use cutap_tensor_map as tensor_map;

/// The way to the kernel driver.
pub mod sys {
    pub use crate::kernel_driver::nodes::{Kernel, Linux, Node};
}
