//! Modules: code that is loaded into a context.

use crate::abi::Logs;
use crate::abi::{Answer, Fault, In, Out, Text, answer};
use crate::driver::code;
use crate::image::Image;
use crate::state::{Handle, driver_state, lookup};
use cutap_machine::variable;
use std::sync::Arc;

/// Eager (1) if CUDA_MODULE_LOADING requests it, else lazy (2).
pub extern "C" fn cuModuleGetLoadingMode(mode: Out<u32>) -> u32 {
    answer(|| {
        let eager = variable(c"CUDA_MODULE_LOADING").is_some_and(|v| v == "EAGER");
        mode.put(if eager { 1 } else { 2 })
    })
}

fn load(module: Out<Handle>, image: impl FnOnce() -> Answer<Arc<Image>>) -> u32 {
    answer(|| {
        module.check()?;
        // A compiler may run. Only then the lock is taken.
        let image = image()?;
        module.put(code::load(&mut driver_state(), image)?)
    })
}

pub extern "C" fn cuModuleLoad(module: Out<Handle>, path: Text) -> u32 {
    load(module, || code::image_in(path.get()?))
}

pub extern "C" fn cuModuleLoadData(module: Out<Handle>, image: u64) -> u32 {
    load(module, || code::image_at(image))
}

/// CU_JIT_NUM_OPTIONS of 13.5.
const OPTIONS: u32 = 36;

/// Checks the options for the compiler. Only the buffers for its logs have an effect.
pub fn options(count: u32, names: In<u32>, values: In<u64>) -> Answer<Logs> {
    if count > 0 && (names.is_null() || values.is_null()) {
        return Err(Fault::INVALID_VALUE);
    }
    names.check_list(count as usize)?;
    values.check_list(count as usize)?;
    for n in 0..count as usize {
        if names.get_at(n)? >= OPTIONS {
            return Err(Fault::INVALID_VALUE);
        }
    }
    Ok(Logs::of(count, names, values))
}

pub extern "C" fn cuModuleLoadDataEx(
    module: Out<Handle>,
    image: u64,
    count: u32,
    names: In<u32>,
    values: In<u64>,
) -> u32 {
    load(module, || options(count, names, values)?.write_outcome(code::image_at(image)))
}

pub extern "C" fn cuModuleLoadFatBinary(module: Out<Handle>, image: u64) -> u32 {
    load(module, || code::image_at(image))
}

pub extern "C" fn cuModuleUnload(module: Handle) -> u32 {
    answer(|| code::unload(driver_state(), module))
}

pub extern "C" fn cuModuleGetFunction(function: Out<Handle>, module: Handle, name: Text) -> u32 {
    answer(|| {
        function.check()?;
        let name = name.str()?;
        if name.is_empty() {
            return Err(Fault::INVALID_VALUE);
        }
        function.put(code::function(&mut driver_state(), module, name)?)
    })
}

pub extern "C" fn cuModuleGetFunctionCount(count: Out<u32>, module: Handle) -> u32 {
    answer(|| count.put(lookup(&driver_state().code.modules, module)?.image.kernels.len() as u32))
}

pub extern "C" fn cuModuleEnumerateFunctions(functions: Out<Handle>, room: u32, module: Handle) -> u32 {
    answer(|| {
        let mut state = driver_state();
        let count = lookup(&state.code.modules, module)?.image.kernels.len().min(room as usize);
        (0..count).try_for_each(|index| functions.put_at(index, code::function_at(&mut state, module, index)?))
    })
}

pub extern "C" fn cuModuleGetGlobal_v2(address: Out<u64>, size: Out<usize>, module: Handle, name: Text) -> u32 {
    answer(|| {
        if address.is_null() && size.is_null() {
            return Err(Fault::INVALID_VALUE);
        }
        let (start, bytes) = code::variable(module, name.str()?)?;
        address.put_if_wanted(start);
        size.put_if_wanted(bytes as usize);
        Ok(())
    })
}

/// This driver does not read texture and surface references from images.
pub extern "C" fn cuModuleGetTexRef(_reference: Out<Handle>, module: Handle, _name: Text) -> u32 {
    answer(|| lookup(&driver_state().code.modules, module).and(Err(Fault::NOT_FOUND)))
}

pub extern "C" fn cuModuleGetSurfRef(reference: Out<Handle>, module: Handle, name: Text) -> u32 {
    cuModuleGetTexRef(reference, module, name)
}
