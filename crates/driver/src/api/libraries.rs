//! Libraries, which are code without a context, and their kernels.

use crate::abi::{Answer, Fault, In, Out, Text, answer};
use crate::api::modules::options;
use crate::driver::code;
use crate::image::Image;
use crate::state::{Function, Handle, driver_state, lookup};
use std::ffi::c_char;
use std::sync::Arc;

/// CU_LIBRARY_HOST_UNIVERSAL_FUNCTION_AND_DATA_TABLE, and the option without a value.
const TABLE: u32 = 0;
const BINARY_IS_PRESERVED: u32 = 1;

/// Checks the options of a library. They have no effect, because this driver always copies the code. The array of
/// values may be NULL if no option needs one, as in cuBLASLt. A file has no binary that the program could preserve.
fn library_options(count: u32, names: In<u32>, values: In<u64>, of_file: bool) -> Answer {
    if count > 0 && names.is_null() {
        return Err(Fault::INVALID_VALUE);
    }
    names.check_list(count as usize)?;
    for n in 0..count as usize {
        match names.get_at(n)? {
            TABLE if !values.is_null() => values.check_list(count as usize)?,
            BINARY_IS_PRESERVED if !of_file => {}
            _ => return Err(Fault::INVALID_VALUE),
        }
    }
    Ok(())
}

fn load(library: Out<Handle>, image: impl FnOnce() -> Answer<Arc<Image>>) -> u32 {
    answer(|| {
        library.check()?;
        // A compiler may run. Only then the lock is taken.
        let image = image()?;
        library.put(code::load_library(&mut driver_state(), image))
    })
}

/// The options for the compiler have no effect, except for its logs.
pub extern "C" fn cuLibraryLoadData(
    library: Out<Handle>,
    image: u64,
    names: In<u32>,
    values: In<u64>,
    count: u32,
    library_names: In<u32>,
    library_values: In<u64>,
    library_count: u32,
) -> u32 {
    load(library, || {
        let logs = options(count, names, values)?;
        library_options(library_count, library_names, library_values, false)?;
        logs.write_outcome(code::image_at(image))
    })
}

pub extern "C" fn cuLibraryLoadFromFile(
    library: Out<Handle>,
    path: Text,
    names: In<u32>,
    values: In<u64>,
    count: u32,
    library_names: In<u32>,
    library_values: In<u64>,
    library_count: u32,
) -> u32 {
    load(library, || {
        let logs = options(count, names, values)?;
        library_options(library_count, library_names, library_values, true)?;
        logs.write_outcome(code::image_in(path.get()?))
    })
}

pub extern "C" fn cuLibraryUnload(library: Handle) -> u32 {
    answer(|| code::unload_library(driver_state(), library))
}

pub extern "C" fn cuLibraryGetKernel(kernel: Out<Handle>, library: Handle, name: Text) -> u32 {
    answer(|| kernel.check()?.put(code::kernel(&mut driver_state(), library, name.str()?)?))
}

pub extern "C" fn cuLibraryGetModule(module: Out<Handle>, library: Handle) -> u32 {
    answer(|| module.check()?.put(code::module_of(&mut driver_state(), library)?))
}

pub extern "C" fn cuLibraryGetKernelCount(count: Out<u32>, library: Handle) -> u32 {
    answer(|| count.put(lookup(&driver_state().code.libraries, library)?.image.kernels.len() as u32))
}

pub extern "C" fn cuLibraryEnumerateKernels(kernels: Out<Handle>, room: u32, library: Handle) -> u32 {
    answer(|| {
        let mut state = driver_state();
        let count = lookup(&state.code.libraries, library)?.image.kernels.len().min(room as usize);
        (0..count).try_for_each(|index| kernels.put_at(index, code::kernel_at(&mut state, library, index)?))
    })
}

pub extern "C" fn cuLibraryGetGlobal(address: Out<u64>, size: Out<usize>, library: Handle, name: Text) -> u32 {
    answer(|| {
        if address.is_null() && size.is_null() {
            return Err(Fault::INVALID_VALUE);
        }
        let module = code::module_of(&mut driver_state(), library)?;
        let (start, bytes) = code::variable(module, name.str()?)?;
        address.put_if_wanted(start);
        size.put_if_wanted(bytes as usize);
        Ok(())
    })
}

pub extern "C" fn cuLibraryGetManaged(address: Out<u64>, size: Out<usize>, library: Handle, name: Text) -> u32 {
    let result = answer(|| {
        let (state, name) = (driver_state(), name.str()?);
        let variables = &lookup(&state.code.libraries, library)?.image.variables;
        if variables.iter().any(|v| v.name == name && !v.managed) { Err(Fault::NOT_FOUND) } else { Ok(()) }
    });
    if result == 0 { cuLibraryGetGlobal(address, size, library, name) } else { result }
}

/// Unified functions: this driver has none.
pub extern "C" fn cuLibraryGetUnifiedFunction(function: Out<u64>, library: Handle, name: Text) -> u32 {
    answer(|| {
        function.check()?;
        lookup(&driver_state().code.libraries, library)?;
        name.get().and(Err(Fault::INVALID_VALUE))
    })
}

pub extern "C" fn cuKernelGetFunction(function: Out<Handle>, kernel: Handle) -> u32 {
    answer(|| {
        function.check()?;
        function.put(code::function_of(&mut driver_state(), kernel)?)
    })
}

pub extern "C" fn cuKernelGetLibrary(library: Out<Handle>, kernel: Handle) -> u32 {
    answer(|| {
        let state = driver_state();
        let kernel = lookup(&state.code.functions, kernel)?;
        lookup(&state.code.libraries, kernel.home)?;
        library.put(kernel.home)
    })
}

/// Reads a property of a function of a module, or of a kernel of a library. INVALID_HANDLE for the other kind.
fn read(handle: Handle, kernel: bool, property: impl FnOnce(&Function) -> Answer) -> u32 {
    answer(|| {
        if handle == Handle::NULL {
            return Err(Fault::INVALID_VALUE);
        }
        let state = driver_state();
        let function = lookup(&state.code.functions, handle)?;
        if function.is_kernel() == kernel { property(function) } else { Err(Fault::INVALID_HANDLE) }
    })
}

pub extern "C" fn cuKernelGetName(name: Out<*const c_char>, kernel: Handle) -> u32 {
    read(kernel, true, |f| name.put(f.kernel().name.as_ptr()))
}

pub extern "C" fn cuFuncGetName(name: Out<*const c_char>, function: Handle) -> u32 {
    read(function, false, |f| name.put(f.kernel().name.as_ptr()))
}

pub extern "C" fn cuFuncGetModule(module: Out<Handle>, function: Handle) -> u32 {
    read(function, false, |f| module.put(f.home))
}

fn parameter(f: &Function, index: usize, offset: Out<usize>, size: Out<usize>) -> Answer {
    let parameter = f.kernel().parameters.get(index).ok_or(Fault::INVALID_VALUE)?;
    size.put_if_wanted(parameter.size as usize);
    offset.put(parameter.offset as usize)
}

pub extern "C" fn cuKernelGetParamInfo(kernel: Handle, index: usize, offset: Out<usize>, size: Out<usize>) -> u32 {
    read(kernel, true, |f| parameter(f, index, offset, size))
}

pub extern "C" fn cuFuncGetParamInfo(function: Handle, index: usize, offset: Out<usize>, size: Out<usize>) -> u32 {
    read(function, false, |f| parameter(f, index, offset, size))
}

pub extern "C" fn cuKernelGetParamCount(kernel: Handle, count: Out<usize>) -> u32 {
    read(kernel, true, |f| count.put(f.kernel().parameters.len()))
}

pub extern "C" fn cuFuncGetParamCount(function: Handle, count: Out<usize>) -> u32 {
    read(function, false, |f| count.put(f.kernel().parameters.len()))
}
