//! Cubins: which of a fat binary runs here, and `Layout`: the bytes of one for chosen addresses. Any input gives an
//! answer or an error, never a panic.

pub(crate) mod fatbin;
mod image;
mod relocation;

pub use cutap_cubin::{Kernel as Entry, Parameter, Variable};
pub(crate) use image::{Layout, is_trap};

use crate::base::error::{Error, Result};
use cutap_cubin::Cubin;
use fatbin::Code;
use std::collections::BTreeMap;

/// What is in a cubin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    /// The compute capability that it is for, without the dot.
    pub architecture: u32,
    /// Its kernels.
    pub kernels: Vec<Entry>,
    /// Its variables.
    pub variables: Vec<Variable>,
    /// Functions that its kernels call and that libcuda would supply.
    pub missing: Vec<String>,
}

/// Reads a cubin, or one for sm_90 of a fat binary, as a context would load it, without a GPU.
///
/// # Errors
/// It is no cubin, or it is damaged.
pub fn contents(cubin: &[u8]) -> Result<Contents> {
    /// Any address: relocations must fit.
    const BASE: u64 = 0x7f00_0000_0000;
    /// The compute capability whose entry of a fat binary is taken.
    const GPU: u32 = 90;
    let code = if fatbin::is_fatbin(cubin) { fatbin::choose(cubin, GPU)? } else { Code::Cubin(cubin.into()) };
    let Code::Cubin(cubin) = code else { return Err(Error::Unsupported("PTX without a GPU")) };
    let mut cubin = Cubin::parse(&cubin)?;
    let relocations = cubin.relocations()?;
    Layout::of(&cubin, relocations.missing.len())?.image(&cubin, &relocations, BASE)?;
    let names = Symbols::of(cubin.kernels, cubin.variables);
    let (kernels, variables) = (names.kernels.into_values().collect(), names.variables.into_values().collect());
    Ok(Contents { architecture: cubin.architecture, kernels, variables, missing: relocations.missing })
}

/// Kernels and variables by name.
#[derive(Debug)]
pub(crate) struct Symbols {
    pub kernels: BTreeMap<String, Entry>,
    pub variables: BTreeMap<String, Variable>,
}

impl Symbols {
    pub fn of(kernels: Vec<Entry>, variables: Vec<Variable>) -> Self {
        Self {
            kernels: kernels.into_iter().map(|kernel| (kernel.name.clone(), kernel)).collect(),
            variables: variables.into_iter().map(|variable| (variable.name.clone(), variable)).collect(),
        }
    }
}
