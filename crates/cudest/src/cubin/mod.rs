//! Cubins: what is in one, without a GPU. `Cubin::parse` finds kernels, variables, code, constants and relocations, and
//! `Cubin::image` gives the bytes for chosen addresses. Any input gives an answer or an error, never a panic.

pub(crate) mod fatbin;
mod image;
mod info;
mod parts;
mod relocation;
mod sections;
mod work;

pub(crate) use image::Layout;
pub(crate) use parts::Cubin;
pub use parts::{Entry, Parameter, Variable};

use crate::error::Result;

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
    let code = if fatbin::is_fatbin(cubin) { fatbin::choose(cubin, GPU)? } else { fatbin::Code::Cubin(cubin.into()) };
    let fatbin::Code::Cubin(cubin) = code else { return Err(crate::error::Error::Unsupported("PTX without a GPU")) };
    let cubin = Cubin::parse(&cubin)?;
    Layout::of(&cubin)?.image(&cubin, BASE)?;
    let (architecture, missing) = (cubin.architecture, cubin.missing);
    let (kernels, variables) = (cubin.kernels.into_values().collect(), cubin.variables.into_values().collect());
    Ok(Contents { architecture, kernels, variables, missing })
}
