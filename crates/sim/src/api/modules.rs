//! Modules: code loaded into a context.

use crate::driver::abi::{Out, answer};

/// Lazy (2) or eager (1): as CUDA_MODULE_LOADING says, lazy if it says nothing.
pub extern "C" fn cuModuleGetLoadingMode(mode: Out<u32>) -> u32 {
    answer(|| {
        let eager = std::env::var("CUDA_MODULE_LOADING").is_ok_and(|v| v == "EAGER");
        mode.put(if eager { 1 } else { 2 })
    })
}
