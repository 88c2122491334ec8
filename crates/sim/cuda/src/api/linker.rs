//! The linker: it collects pieces of code and returns one image, from which modules can be loaded. It compiles
//! nothing, so the image contains machine code only if a piece did.

use crate::abi::{Answer, Fault, In, Out, Text, answer, bytes_at};
use crate::api::modules::options;
use crate::driver::current;
use crate::image::{self, Source};
use crate::state::{DriverState, Handle, Link, driver_state, lookup_mut};

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

/// Kinds 0 to 2: machine code, PTX, fat binary. Kinds 3 and 4: object and archive, which are ignored.
fn add(state: &mut DriverState, link: Handle, kind: u32, code: Vec<u8>) -> Answer {
    let link = lookup_mut(&mut state.code.links, link)?;
    match kind {
        0..=2 => drop(link.logs.append_outcome(image::read(Source::Bytes(&code)))?),
        3 | 4 => return Ok(()),
        _ => return Err(Fault::INVALID_VALUE),
    }
    link.images.push(code);
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
        let mut state = driver_state();
        lookup_mut(&mut state.code.links, link)?;
        options(count, names, values)?;
        if data == 0 || size == 0 || kind > 5 {
            return Err(Fault::INVALID_VALUE);
        }
        add(&mut state, link, kind, bytes_at(data, size as u64)?)
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
        lookup_mut(&mut driver_state().code.links, link)?;
        options(count, names, values)?;
        // The file may be slow, so the lock is not held.
        let code = image::file(path.str()?.as_ref())?;
        add(&mut driver_state(), link, kind, code)
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
