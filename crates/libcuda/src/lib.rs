//! libcuda.so.1: the front of `cutap-driver` with its engines. NVIDIA's real runtimes start on it. Where its file lies
//! says which engine works (module `choice`).
//!
//! The shared library is built by
//!
//! ```text
//! cargo rustc -p cutap-libcuda --release --lib --crate-type cdylib -- -C link-arg=-Wl,-soname,libcuda.so.1
//! ```
//!
//! and renamed from libcutap_libcuda.so to libcuda.so.1.

mod choice;
