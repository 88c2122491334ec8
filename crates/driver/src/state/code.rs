//! Modules, libraries, their functions, and linkers. A library is code without a context; it has a module in each
//! context that used it. Functions and kernels share one table, because a launch takes either.

use super::handle::Handle;
use crate::abi::Logs;
use crate::image::{Image, Kernel};
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Default)]
pub struct CodeState {
    pub modules: BTreeMap<Handle, Module>,
    pub libraries: BTreeMap<Handle, Library>,
    pub functions: BTreeMap<Handle, Function>,
    pub links: BTreeMap<Handle, Link>,
}

pub struct Module {
    pub context: Handle,
    pub image: Arc<Image>,
    /// Handles that the program has, by the index of the kernel in the image.
    pub functions: BTreeMap<usize, Handle>,
    /// Addresses of the variables that the program asked for, by their index in the image.
    pub variables: BTreeMap<usize, u64>,
}

pub struct Library {
    pub image: Arc<Image>,
    pub kernels: BTreeMap<usize, Handle>,
    /// By context.
    pub modules: BTreeMap<Handle, Handle>,
}

/// A function of a module, which has a context, or a kernel of a library, which has none.
pub struct Function {
    pub context: Handle,
    /// The module or the library.
    pub home: Handle,
    pub index: usize,
    pub image: Arc<Image>,
    pub attributes: BTreeMap<u32, i32>,
    /// Settings for the launch functions from before CUDA 4.0: block and bytes of shared memory.
    pub block: [u32; 3],
    pub shared: u32,
    /// Their arguments, by offset.
    pub set_parameters: Vec<u8>,
}

impl Function {
    pub fn new(context: Handle, home: Handle, index: usize, image: Arc<Image>) -> Self {
        Function {
            context,
            home,
            index,
            image,
            attributes: BTreeMap::new(),
            block: [1; 3],
            shared: 0,
            set_parameters: Vec::new(),
        }
    }

    pub fn kernel(&self) -> &Kernel {
        &self.image.kernels[self.index]
    }

    /// Whether it belongs to a library, and so to no context.
    pub fn is_kernel(&self) -> bool {
        self.context == Handle::NULL
    }

    pub fn max_threads(&self) -> i32 {
        self.kernel().max_threads.unwrap_or(1024).clamp(0, 1024)
    }
}

/// A linker: the code that was added, and the linked image, which the program points to.
#[derive(Default)]
pub struct Link {
    pub images: Vec<Vec<u8>>,
    pub linked: Option<Vec<u8>>,
    pub logs: Logs,
}
