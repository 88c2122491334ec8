//! What this driver needs of code: names, parameters and sizes of kernels, and variables with their initial bytes.

use crate::abi::{Answer, Fault};
use crate::engine::{Code, machine};
use cutap_cubin::ptx::{self, Module};
use cutap_cubin::{Cubin, MOST_PARAMETERS, Work};
use std::ffi::CString;
use std::sync::{Arc, OnceLock};

/// Registers that a compiler might use for a small kernel of PTX.
const REGISTERS: i32 = 32;
/// Limits of compute capability 9.0. They keep sums of hostile numbers small.
const MOST_REGISTERS: u32 = 255;
const MOST_SHARED: u32 = 232_448;

/// One parameter of a kernel, in its block of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    pub offset: u64,
    pub size: u64,
}

#[derive(Clone, Debug, Default)]
pub struct Kernel {
    pub name: CString,
    pub parameters: Vec<Parameter>,
    pub registers: i32,
    pub max_threads: Option<i32>,
    pub shared: i32,
    pub local: i32,
}

/// A variable that the host can find by name.
pub type Variable = ptx::Variable;

#[derive(Default)]
pub struct Image {
    pub kernels: Vec<Kernel>,
    pub variables: Vec<Variable>,
    /// Machine code, on a machine that runs kernels.
    pub code: Vec<u8>,
    /// The code in the memory of each device.
    pub loaded: [OnceLock<Arc<dyn Code>>; 8],
}

pub fn of_cubin(bytes: &[u8]) -> Answer<Image> {
    let cubin = Cubin::parse(bytes)?;
    let kernels =
        cubin.kernels.iter().map(|kernel| kernel_of_cubin(kernel, cubin.architecture)).collect::<Answer<_>>()?;
    let (mut variables, mut work) = (Vec::new(), Work::of(bytes));
    for variable in &cubin.variables {
        let Some(section) = cubin.section(variable.section) else { continue };
        if matches!(section.name, ".nv.global" | ".nv.global.init" | ".nv.constant3") {
            let end = variable.offset.saturating_add(variable.size);
            let start = section.bytes.get(variable.offset as usize..end as usize).unwrap_or_default();
            // Variables may overlap.
            work.take(start.len() as u64)?;
            let (name, start) = (variable.name.clone(), start.to_vec());
            variables.push(Variable { name, size: variable.size, start, managed: variable.managed });
        }
    }
    let code = if machine().runs_kernels() { bytes.to_vec() } else { Vec::new() };
    Ok(Image { kernels, variables, code, ..Image::default() })
}

fn kernel_of_cubin(kernel: &cutap_cubin::Kernel, architecture: u32) -> Answer<Kernel> {
    let parameter = |p: &cutap_cubin::Parameter| Parameter { offset: p.offset as u64, size: p.size as u64 };
    let parameters: Vec<_> = kernel.parameters.iter().map(parameter).collect();
    // All parameters lie where a kernel can have some.
    let is_sane = parameters.len() as u64 <= MOST_PARAMETERS
        && parameters.iter().all(|p| p.offset.saturating_add(p.size) <= MOST_PARAMETERS);
    if !is_sane {
        return Err(Fault::INVALID_IMAGE);
    }
    Ok(Kernel {
        name: c_string(&kernel.name)?,
        parameters,
        registers: kernel.registers.min(MOST_REGISTERS) as i32,
        max_threads: (kernel.max_threads > 0).then(|| whole(kernel.max_threads)),
        shared: kernel.own_shared(architecture).min(MOST_SHARED) as i32,
        local: whole(kernel.frame),
    })
}

pub fn of_ptx(text: &[u8]) -> Answer<Image> {
    if let Some(cubin) = machine().compile(text)? {
        return of_cubin(&cubin);
    }
    let module = Module::parse(text).map_err(|error| match error {
        ptx::Error::NotPtx => Fault::INVALID_IMAGE,
        ptx::Error::Version => Fault::UNSUPPORTED_PTX_VERSION,
        ptx::Error::Syntax => Fault::INVALID_PTX,
    })?;
    let kernels = module.kernels.iter().map(|kernel| {
        let parameter = |p: &ptx::Parameter| Parameter { offset: p.offset, size: p.size };
        let parameters = kernel.parameters.iter().map(parameter).collect();
        let (name, max_threads) = (c_string(&kernel.name)?, kernel.max_threads.map(whole));
        Ok(Kernel { name, parameters, max_threads, registers: REGISTERS, ..Kernel::default() })
    });
    Ok(Image { kernels: kernels.collect::<Answer<_>>()?, variables: module.variables, ..Image::default() })
}

fn c_string(name: &str) -> Answer<CString> {
    CString::new(name).map_err(|_| Fault::INVALID_IMAGE)
}

fn whole(number: u32) -> i32 {
    number.min(i32::MAX as u32) as i32
}
