//! Modules, libraries and their kernels and variables. A library is code without a context; it has a module in each
//! context that asked for something of it. Functions and kernels share one table, because a launch takes either.

use super::allocation::{self, Allocation, Kind};
use super::driver_state::{DriverState, Handle, known, known_mut};
use super::fault::{Answer, Fault};
use super::{current, engine};
use crate::image::{self, Image, Kernel};
use std::collections::BTreeMap;
use std::sync::Arc;

pub struct Module {
    pub context: Handle,
    pub image: Arc<Image>,
    /// Handles that were given out, by the kernel's place in the image.
    functions: BTreeMap<usize, Handle>,
    /// Addresses of variables that were asked for, by their place in the image.
    variables: BTreeMap<usize, u64>,
}

pub struct Library {
    pub image: Arc<Image>,
    kernels: BTreeMap<usize, Handle>,
    /// By context.
    modules: BTreeMap<Handle, Handle>,
}

impl Library {
    /// A context ended.
    pub fn forget(&mut self, context: Handle) {
        self.modules.remove(&context);
    }
}

/// A function of a module (then it has a context) or a kernel of a library.
pub struct Function {
    pub context: Handle,
    /// The module or the library.
    pub home: Handle,
    pub index: usize,
    pub image: Arc<Image>,
    pub attributes: BTreeMap<u32, i32>,
    /// What the launches of before 4.0 set first: block, shared bytes.
    pub block: [u32; 3],
    pub shared: u32,
}

impl Function {
    fn new(context: Handle, home: Handle, index: usize, image: Arc<Image>) -> Self {
        Function { context, home, index, image, attributes: BTreeMap::new(), block: [1; 3], shared: 0 }
    }

    pub fn kernel(&self) -> &Kernel {
        &self.image.kernels[self.index]
    }

    /// Of a library, so that no context has a part in it.
    pub fn is_kernel(&self) -> bool {
        self.context == Handle::NULL
    }

    pub fn max_threads(&self) -> i32 {
        self.kernel().max_threads.unwrap_or(1024).min(1024)
    }
}

/// The image at an address of the program.
pub fn image_at(address: u64) -> Answer<Arc<Image>> {
    image::read(image::Memory::at(address)?).map(Arc::new)
}

/// The image in a file.
pub fn image_in(path: &std::ffi::CStr) -> Answer<Arc<Image>> {
    use std::os::unix::ffi::OsStrExt;
    let path = std::ffi::OsStr::from_bytes(path.to_bytes());
    if std::path::Path::new(path).is_dir() {
        return Err(Fault::OUT_OF_MEMORY); // as the driver has it
    }
    let bytes = std::fs::read(path).map_err(|_| Fault::FILE_NOT_FOUND)?;
    image::read_bytes(&bytes).map(Arc::new)
}

/// A module in the current context.
pub fn load(world: &mut DriverState, image: Arc<Image>) -> Answer<Handle> {
    let context = current::require(world)?;
    let made = world.new_handle();
    let module = Module { context, image, functions: BTreeMap::new(), variables: BTreeMap::new() };
    world.modules.insert(made, module);
    Ok(made)
}

pub fn load_library(world: &mut DriverState, image: Arc<Image>) -> Handle {
    let made = world.new_handle();
    world.libraries.insert(made, Library { image, kernels: BTreeMap::new(), modules: BTreeMap::new() });
    made
}

/// Ends a module after the work of its context.
pub fn unload(world: super::driver_state::Guard, handle: Handle) -> Answer {
    let context = known(&world.modules, handle)?.context;
    let mut world = engine::wait_for_context(world, context)?;
    let module = world.modules.remove(&handle).ok_or(Fault::INVALID_HANDLE)?;
    for address in module.variables.values() {
        allocation::release(&mut world, *address);
    }
    world.functions.retain(|_, f| f.home != handle);
    world.libraries.values_mut().for_each(|l| l.modules.retain(|_, m| *m != handle));
    Ok(())
}

pub fn unload_library(world: super::driver_state::Guard, handle: Handle) -> Answer {
    let modules: Vec<Handle> = known(&world.libraries, handle)?.modules.values().copied().collect();
    drop(world);
    for module in modules {
        unload(super::driver_state::driver_state(), module)?;
    }
    let mut world = super::driver_state::driver_state();
    world.libraries.remove(&handle);
    world.functions.retain(|_, f| f.home != handle);
    Ok(())
}

fn place<T>(all: &[T], is_it: impl Fn(&T) -> bool) -> Answer<usize> {
    all.iter().position(is_it).ok_or(Fault::NOT_FOUND)
}

/// The function of a module that is a kernel of its image.
pub fn function_at(world: &mut DriverState, handle: Handle, index: usize) -> Answer<Handle> {
    let made = world.new_handle();
    let module = known_mut(&mut world.modules, handle)?;
    if let Some(found) = module.functions.get(&index) {
        return Ok(*found);
    }
    module.functions.insert(index, made);
    let function = Function::new(module.context, handle, index, module.image.clone());
    world.functions.insert(made, function);
    Ok(made)
}

pub fn function(world: &mut DriverState, module: Handle, name: &str) -> Answer<Handle> {
    let index = place(&known(&world.modules, module)?.image.kernels, |k| k.name.to_str() == Ok(name))?;
    function_at(world, module, index)
}

/// The same for a library; no context has a part in it.
pub fn kernel_at(world: &mut DriverState, handle: Handle, index: usize) -> Answer<Handle> {
    let made = world.new_handle();
    let library = known_mut(&mut world.libraries, handle)?;
    if let Some(found) = library.kernels.get(&index) {
        return Ok(*found);
    }
    library.kernels.insert(index, made);
    let function = Function::new(Handle::NULL, handle, index, library.image.clone());
    world.functions.insert(made, function);
    Ok(made)
}

pub fn kernel(world: &mut DriverState, library: Handle, name: &str) -> Answer<Handle> {
    let index = place(&known(&world.libraries, library)?.image.kernels, |k| k.name.to_str() == Ok(name))?;
    kernel_at(world, library, index)
}

/// A library's module in the current context.
pub fn module_of(world: &mut DriverState, handle: Handle) -> Answer<Handle> {
    let context = current::require(world)?;
    let library = known(&world.libraries, handle)?;
    if let Some(found) = library.modules.get(&context).filter(|m| world.modules.contains_key(m)) {
        return Ok(*found);
    }
    let image = library.image.clone();
    let made = load(world, image)?;
    known_mut(&mut world.libraries, handle)?.modules.insert(context, made);
    Ok(made)
}

/// The function that a library's kernel is in the current context.
pub fn function_of(world: &mut DriverState, kernel: Handle) -> Answer<Handle> {
    let found = known(&world.functions, kernel)?;
    let (library, index) = (found.home, found.index);
    let module = module_of(world, library)?;
    function_at(world, module, index)
}

/// A variable's address and size; it gets its memory when it is first asked for.
pub fn variable(world: &mut DriverState, handle: Handle, name: &str) -> Answer<(u64, u64)> {
    let module = known(&world.modules, handle)?;
    let index = place(&module.image.variables, |v| v.name == name)?;
    let size = module.image.variables[index].size;
    if let Some(address) = module.variables.get(&index) {
        return Ok((*address, size));
    }
    let (context, image) = (module.context, module.image.clone());
    let device = world.contexts.get(&context).ok_or(Fault::CONTEXT_IS_DESTROYED)?.device;
    let kind = if image.variables[index].managed { Kind::Managed } else { Kind::Device };
    let made = Allocation { size, kind, device, context, id: 0, pool: Handle::NULL };
    let address = allocation::allocate_for(world, made)?;
    super::copy::fill(address, &image.variables[index].start, size);
    known_mut(&mut world.modules, handle)?.variables.insert(index, address);
    Ok((address, size))
}
