//! Libraries: code without a context, and their kernels.

use crate::driver::abi::{Out, Text, answer};
use crate::driver::code::{self, Function};
use crate::driver::fault::{Answer, Fault};
use crate::driver::world::{Handle, known, world};
use crate::image::Image;
use std::ffi::c_char;
use std::sync::Arc;

fn load(found: Out<Handle>, image: impl FnOnce() -> Answer<Arc<Image>>) -> u32 {
    answer(|| found.check()?.put(code::load_library(&mut world(), image()?)))
}

/// The options, three words each for the compiler and for the library, change nothing here.
pub extern "C" fn cuLibraryLoadData(found: Out<Handle>, image: u64) -> u32 {
    load(found, || code::image_at(image))
}

pub extern "C" fn cuLibraryLoadFromFile(found: Out<Handle>, path: Text) -> u32 {
    load(found, || code::image_in(path.get()?))
}

pub extern "C" fn cuLibraryUnload(library: Handle) -> u32 {
    answer(|| code::unload_library(world(), library))
}

pub extern "C" fn cuLibraryGetKernel(found: Out<Handle>, library: Handle, name: Text) -> u32 {
    answer(|| found.check()?.put(code::kernel(&mut world(), library, name.str()?)?))
}

pub extern "C" fn cuLibraryGetModule(found: Out<Handle>, library: Handle) -> u32 {
    answer(|| found.check()?.put(code::module_of(&mut world(), library)?))
}

pub extern "C" fn cuLibraryGetKernelCount(count: Out<u32>, library: Handle) -> u32 {
    answer(|| count.put(known(&world().libraries, library)?.image.kernels.len() as u32))
}

pub extern "C" fn cuLibraryEnumerateKernels(found: Out<Handle>, room: u32, library: Handle) -> u32 {
    answer(|| {
        let mut world = world();
        let count = known(&world.libraries, library)?.image.kernels.len().min(room as usize);
        (0..count).try_for_each(|index| found.put_at(index, code::kernel_at(&mut world, library, index)?))
    })
}

pub extern "C" fn cuLibraryGetGlobal(address: Out<u64>, size: Out<usize>, library: Handle, name: Text) -> u32 {
    answer(|| {
        let mut world = world();
        let module = code::module_of(&mut world, library)?;
        let (found, bytes) = code::variable(&mut world, module, name.str()?)?;
        address.put_if_wanted(found);
        size.put_if_wanted(bytes as usize);
        Ok(())
    })
}

pub extern "C" fn cuLibraryGetManaged(address: Out<u64>, size: Out<usize>, library: Handle, name: Text) -> u32 {
    cuLibraryGetGlobal(address, size, library, name)
}

pub extern "C" fn cuKernelGetFunction(found: Out<Handle>, kernel: Handle) -> u32 {
    answer(|| {
        found.check()?;
        let mut world = world();
        let (library, index) = {
            let kernel = known(&world.functions, kernel)?;
            (kernel.home, kernel.index)
        };
        let module = code::module_of(&mut world, library)?;
        found.put(code::function_at(&mut world, module, index)?)
    })
}

pub extern "C" fn cuKernelGetLibrary(found: Out<Handle>, kernel: Handle) -> u32 {
    answer(|| {
        let world = world();
        let kernel = known(&world.functions, kernel)?;
        known(&world.libraries, kernel.home)?;
        found.put(kernel.home)
    })
}

/// Something of a function or kernel.
fn read(handle: Handle, what: impl FnOnce(&Function) -> Answer) -> u32 {
    answer(|| what(known(&world().functions, handle)?))
}

pub extern "C" fn cuKernelGetName(name: Out<*const c_char>, kernel: Handle) -> u32 {
    read(kernel, |f| name.put(f.kernel().name.as_ptr()))
}

pub extern "C" fn cuFuncGetName(name: Out<*const c_char>, function: Handle) -> u32 {
    cuKernelGetName(name, function)
}

pub extern "C" fn cuFuncGetModule(found: Out<Handle>, function: Handle) -> u32 {
    answer(|| {
        let world = world();
        let function = known(&world.functions, function)?;
        known(&world.modules, function.home)?;
        found.put(function.home)
    })
}

pub extern "C" fn cuKernelGetParamInfo(kernel: Handle, index: usize, offset: Out<usize>, size: Out<usize>) -> u32 {
    read(kernel, |f| {
        let parameter = f.kernel().parameters.get(index).ok_or(Fault::INVALID_VALUE)?;
        size.put_if_wanted(parameter.size as usize);
        offset.put(parameter.offset as usize)
    })
}

pub extern "C" fn cuFuncGetParamInfo(function: Handle, index: usize, offset: Out<usize>, size: Out<usize>) -> u32 {
    cuKernelGetParamInfo(function, index, offset, size)
}

pub extern "C" fn cuKernelGetParamCount(kernel: Handle, count: Out<usize>) -> u32 {
    read(kernel, |f| count.put(f.kernel().parameters.len()))
}

pub extern "C" fn cuFuncGetParamCount(function: Handle, count: Out<usize>) -> u32 {
    cuKernelGetParamCount(function, count)
}
