//! First forms of functions whose later forms take the same arguments on a 64-bit machine.

use crate::abi::{In, Out, Text};
use crate::api::{context, events, linker, memory, streams};
use crate::state::Handle;

pub extern "C" fn cuCtxDestroy(handle: Handle) -> u32 {
    context::cuCtxDestroy_v2(handle)
}

pub extern "C" fn cuCtxPushCurrent(handle: Handle) -> u32 {
    context::cuCtxPushCurrent_v2(handle)
}

pub extern "C" fn cuCtxPopCurrent(context_out: Out<Handle>) -> u32 {
    context::cuCtxPopCurrent_v2(context_out)
}

pub extern "C" fn cuStreamDestroy(handle: Handle) -> u32 {
    streams::cuStreamDestroy_v2(handle)
}

pub extern "C" fn cuEventDestroy(handle: Handle) -> u32 {
    events::cuEventDestroy_v2(handle)
}

pub extern "C" fn cuMemHostRegister(address: u64, size: usize, flags: u32) -> u32 {
    memory::cuMemHostRegister_v2(address, size, flags)
}

pub extern "C" fn cuLinkCreate(count: u32, names: In<u32>, values: In<u64>, link: Out<Handle>) -> u32 {
    linker::cuLinkCreate_v2(count, names, values, link)
}

pub extern "C" fn cuLinkAddData(
    link: Handle,
    kind: u32,
    data: u64,
    size: usize,
    name: u64,
    count: u32,
    names: In<u32>,
    values: In<u64>,
) -> u32 {
    linker::cuLinkAddData_v2(link, kind, data, size, name, count, names, values)
}

pub extern "C" fn cuLinkAddFile(
    link: Handle,
    kind: u32,
    path: Text,
    count: u32,
    names: In<u32>,
    values: In<u64>,
) -> u32 {
    linker::cuLinkAddFile_v2(link, kind, path, count, names, values)
}
