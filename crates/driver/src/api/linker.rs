//! The linker: it collects pieces of code and returns one image, from which modules can be loaded. On simulated devices
//! it compiles nothing, so the image contains machine code only if a piece did.

use crate::abi::{Answer, Fault, In, Out, Text, answer, bytes_at};
use crate::api::modules::options;
use crate::driver::current;
use crate::engine::refused;
use crate::generated::limited;
use crate::image::{self, Source};
use crate::state::{Handle, Link, driver_state, lookup, lookup_mut};

pub extern "C" fn cuLinkCreate_v2(count: u32, names: In<u32>, values: In<u64>, link: Out<Handle>) -> u32 {
    answer(|| {
        let mut state = driver_state();
        current::require(&state)?;
        link.check()?;
        let logs = options(count, names, values)?;
        let handle = state.new_handle();
        state.code.links.insert(handle, Link { logs, ..Link::default() });
        logs.write_outcome(Ok(()))?;
        link.put(handle)
    })
}

/// Kinds 0 to 2: machine code, PTX, fat binary. Kinds 3 and 4: object and archive, which simulated devices ignore. A
/// compiler may run, so no lock may be held.
fn add(link: Handle, kind: u32, code: Vec<u8>) -> Answer {
    let logs = lookup(&driver_state().code.links, link)?.logs;
    let code = match kind {
        0..=2 => {
            let image = logs.append_outcome(image::read(Source::Bytes(&code)))?;
            // What was compiled needs no compiler again.
            if image.code.is_empty() { code } else { image.code }
        }
        3 | 4 => return refused::on_gpus(limited::LINK_COMPLETE),
        _ => return Err(Fault::INVALID_VALUE),
    };
    lookup_mut(&mut driver_state().code.links, link)?.images.push(code);
    Ok(())
}

pub extern "C" fn cuLinkAddData_v2(
    link: Handle,
    kind: u32,
    data: u64,
    size: usize,
    _name: u64,
    count: u32,
    names: In<u32>,
    values: In<u64>,
) -> u32 {
    answer(|| {
        lookup(&driver_state().code.links, link)?;
        options(count, names, values)?;
        if data == 0 || size == 0 || kind > 5 {
            return Err(Fault::INVALID_VALUE);
        }
        add(link, kind, bytes_at(data, size as u64)?)
    })
}

pub extern "C" fn cuLinkAddFile_v2(
    link: Handle,
    kind: u32,
    path: Text,
    count: u32,
    names: In<u32>,
    values: In<u64>,
) -> u32 {
    answer(|| {
        lookup(&driver_state().code.links, link)?;
        options(count, names, values)?;
        // The file may be slow, so the lock is not held.
        let code = image::file(path.str()?.as_ref())?;
        add(link, kind, code)
    })
}

pub extern "C" fn cuLinkComplete(link: Handle, image: Out<*const u8>, size: Out<usize>) -> u32 {
    answer(|| {
        image.check()?;
        let mut state = driver_state();
        let link = lookup_mut(&mut state.code.links, link)?;
        if link.linked.is_some() {
            return Err(Fault::INVALID_HANDLE);
        }
        let linked = link.linked.insert(image::link(&link.images));
        image.put(linked.as_ptr())?;
        size.put_if_wanted(linked.len());
        Ok(())
    })
}

pub extern "C" fn cuLinkDestroy(link: Handle) -> u32 {
    answer(|| driver_state().code.links.remove(&link).map(drop).ok_or(Fault::INVALID_HANDLE))
}
