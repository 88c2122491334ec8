//! Rules of modules and libraries: loading, unloading, and look-ups of kernels and variables. It must not read images:
//! that is `image/`.

use super::{allocation, current, device, order};
use crate::abi::{Answer, Fault};
use crate::engine::{Code, machine};
use crate::host::rows;
use crate::image::{self, Image, Source};
use crate::state::{
    Allocation, DriverState, Function, Guard, Handle, Kind, Library, Module, Task, driver_state, lookup, lookup_mut,
};
use std::collections::BTreeMap;
use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

/// The image at an address of the program.
pub fn image_at(address: u64) -> Answer<Arc<Image>> {
    image::read(Source::at(address)?).map(Arc::new)
}

/// The image in a file.
pub fn image_in(path: &CStr) -> Answer<Arc<Image>> {
    let bytes = image::file(Path::new(OsStr::from_bytes(path.to_bytes())))?;
    image::read(Source::Bytes(&bytes)).map(Arc::new)
}

/// The code of an image in the memory of a device, if it is loaded there.
pub fn loaded(image: &Image, device: i32) -> Option<Arc<dyn Code>> {
    image.loaded.get(device as usize)?.get().map(Arc::clone)
}

/// Loads the code of an image into the memory of a device, where it stays as long as the image. This copies and may
/// wait: no lock may be held.
pub fn load_on(image: &Image, device: i32) -> Answer<Arc<dyn Code>> {
    let place = image.loaded.get(device as usize).ok_or(Fault::INVALID_DEVICE)?;
    if let Some(code) = place.get() {
        return Ok(Arc::clone(code));
    }
    let code = machine().space(device::number(device))?.load(&image.code)?;
    // Another thread may have been faster.
    Ok(Arc::clone(place.get_or_init(|| code)))
}

/// The code that a task launches and that is not in the memory of the device yet.
pub fn missing(state: &DriverState, task: &Task, device: i32) -> Vec<Arc<Image>> {
    if !machine().runs_kernels() {
        return Vec::new();
    }
    match task {
        Task::Kernel(launch) => {
            let image = state.code.functions.get(&launch.function).map(|function| &function.image);
            image.filter(|image| loaded(image, device).is_none()).cloned().into_iter().collect()
        }
        Task::Child(_, parts) => {
            parts.0.iter().filter(|p| p.enabled).flat_map(|p| missing(state, &p.task, device)).collect()
        }
        _ => Vec::new(),
    }
}

/// Creates a module in the current context.
pub fn load(state: &mut DriverState, image: Arc<Image>) -> Answer<Handle> {
    let context = current::require(state)?;
    let handle = state.new_handle();
    let module = Module { context, image, functions: BTreeMap::new(), variables: BTreeMap::new() };
    state.code.modules.insert(handle, module);
    Ok(handle)
}

pub fn load_library(state: &mut DriverState, image: Arc<Image>) -> Handle {
    let handle = state.new_handle();
    state.code.libraries.insert(handle, Library { image, kernels: BTreeMap::new(), modules: BTreeMap::new() });
    handle
}

/// Unloads a module after the work of its context has completed.
pub fn unload(state: Guard, handle: Handle) -> Answer {
    let context = lookup(&state.code.modules, handle)?.context;
    let mut state = order::wait_for_context(state, context)?;
    let module = state.code.modules.remove(&handle).ok_or(Fault::INVALID_HANDLE)?;
    for address in module.variables.values() {
        allocation::release(&mut state, *address);
    }
    state.code.functions.retain(|_, f| f.home != handle);
    state.code.libraries.values_mut().for_each(|l| l.modules.retain(|_, m| *m != handle));
    Ok(())
}

pub fn unload_library(state: Guard, handle: Handle) -> Answer {
    let modules: Vec<Handle> = lookup(&state.code.libraries, handle)?.modules.values().copied().collect();
    drop(state);
    for module in modules {
        unload(driver_state(), module)?;
    }
    let mut state = driver_state();
    state.code.libraries.remove(&handle);
    state.code.functions.retain(|_, f| f.home != handle);
    Ok(())
}

fn place<T>(all: &[T], is_it: impl Fn(&T) -> bool) -> Answer<usize> {
    all.iter().position(is_it).ok_or(Fault::NOT_FOUND)
}

/// The function of a module that is a kernel of its image.
pub fn function_at(state: &mut DriverState, handle: Handle, index: usize) -> Answer<Handle> {
    let new_handle = state.new_handle();
    let module = lookup_mut(&mut state.code.modules, handle)?;
    if let Some(existing) = module.functions.get(&index) {
        return Ok(*existing);
    }
    module.functions.insert(index, new_handle);
    let function = Function::new(module.context, handle, index, module.image.clone());
    state.code.functions.insert(new_handle, function);
    Ok(new_handle)
}

pub fn function(state: &mut DriverState, module: Handle, name: &str) -> Answer<Handle> {
    let index = place(&lookup(&state.code.modules, module)?.image.kernels, |k| k.name.to_str() == Ok(name))?;
    function_at(state, module, index)
}

/// The kernel of a library, which has no context.
pub fn kernel_at(state: &mut DriverState, handle: Handle, index: usize) -> Answer<Handle> {
    let new_handle = state.new_handle();
    let library = lookup_mut(&mut state.code.libraries, handle)?;
    if let Some(existing) = library.kernels.get(&index) {
        return Ok(*existing);
    }
    library.kernels.insert(index, new_handle);
    let function = Function::new(Handle::NULL, handle, index, library.image.clone());
    state.code.functions.insert(new_handle, function);
    Ok(new_handle)
}

pub fn kernel(state: &mut DriverState, library: Handle, name: &str) -> Answer<Handle> {
    let index = place(&lookup(&state.code.libraries, library)?.image.kernels, |k| k.name.to_str() == Ok(name))?;
    kernel_at(state, library, index)
}

/// A library's module in the current context.
pub fn module_of(state: &mut DriverState, handle: Handle) -> Answer<Handle> {
    let context = current::require(state)?;
    let library = lookup(&state.code.libraries, handle)?;
    if let Some(existing) = library.modules.get(&context).filter(|m| state.code.modules.contains_key(m)) {
        return Ok(*existing);
    }
    let image = library.image.clone();
    let module = load(state, image)?;
    lookup_mut(&mut state.code.libraries, handle)?.modules.insert(context, module);
    Ok(module)
}

/// The function of a library's kernel in the current context.
pub fn function_of(state: &mut DriverState, kernel: Handle) -> Answer<Handle> {
    let function = lookup(&state.code.functions, kernel)?;
    let (library, index) = (function.home, function.index);
    let module = module_of(state, library)?;
    function_at(state, module, index)
}

/// The address and size of a variable. Its memory is allocated at the first request. No lock may be held.
pub fn variable(handle: Handle, name: &str) -> Answer<(u64, u64)> {
    let mut state = driver_state();
    let module = lookup(&state.code.modules, handle)?;
    let index = place(&module.image.variables, |v| v.name == name)?;
    let size = module.image.variables[index].size;
    if let Some(address) = module.variables.get(&index) {
        return Ok((*address, size));
    }
    let (context, image) = (module.context, module.image.clone());
    let device = state.context.contexts.get(&context).ok_or(Fault::CONTEXT_IS_DESTROYED)?.device;
    let kind = if image.variables[index].managed { Kind::Managed } else { Kind::Device };
    let allocation = Allocation { size, kind, device, context, id: 0, pool: Handle::NULL };
    let address = if machine().runs_kernels() {
        drop(state);
        let (address, _) = load_on(&image, device)?.variable(name)?;
        state = driver_state();
        state.memory.allocations.insert(address, allocation);
        address
    } else {
        let address = allocation::allocate_for(&mut state, allocation)?;
        // SAFETY: the allocation was just made with this size.
        unsafe { rows::fill(address, &image.variables[index].start, size) };
        address
    };
    lookup_mut(&mut state.code.modules, handle)?.variables.insert(index, address);
    Ok((address, size))
}
