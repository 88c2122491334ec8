//! Modules, libraries, kernels.
use super::world::Handle;
pub struct Module {
    pub context: Handle,
}
pub struct Library;
pub struct Function {
    pub context: Handle,
}
