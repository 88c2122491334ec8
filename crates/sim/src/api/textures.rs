//! Textures and surfaces: handles, and the settings that can be asked for again; kernels, which would read through
//! them, do not run.

use crate::driver::abi::{Out, answer};
use crate::driver::current;
use crate::driver::fault::{Answer, Fault};
use crate::driver::world::{Handle, Reference, known, known_mut, world};

/// A texture over whatever is described: kernels, which would read it, do not run.
pub extern "C" fn cuTexObjectCreate(found: Out<Handle>, resource: u64, _texture: u64, _view: u64) -> u32 {
    answer(|| {
        if resource == 0 {
            return Err(Fault::INVALID_VALUE);
        }
        let mut world = world();
        current::require(&world)?;
        found.check()?.put(world.new_handle())
    })
}

pub extern "C" fn cuTexObjectDestroy(_object: Handle) -> u32 {
    answer(|| Ok(()))
}

pub extern "C" fn cuSurfObjectCreate(found: Out<Handle>, resource: u64) -> u32 {
    cuTexObjectCreate(found, resource, 0, 0)
}

pub extern "C" fn cuSurfObjectDestroy(_object: Handle) -> u32 {
    answer(|| Ok(()))
}

pub extern "C" fn cuTexRefCreate(found: Out<Handle>) -> u32 {
    answer(|| {
        found.check()?;
        let mut world = world();
        let made = world.new_handle();
        world.references.insert(made, Reference::default());
        found.put(made)
    })
}

pub extern "C" fn cuTexRefDestroy(reference: Handle) -> u32 {
    answer(|| world().references.remove(&reference).map(drop).ok_or(Fault::INVALID_HANDLE))
}

fn read(reference: Handle, what: impl FnOnce(&Reference) -> Answer) -> u32 {
    answer(|| what(known(&world().references, reference)?))
}

fn change(reference: Handle, what: impl FnOnce(&mut Reference)) -> u32 {
    answer(|| known_mut(&mut world().references, reference).map(what))
}

pub extern "C" fn cuTexRefSetMipmapLevelBias(reference: Handle, bias: f32) -> u32 {
    change(reference, |r| r.bias = bias)
}

pub extern "C" fn cuTexRefGetMipmapLevelBias(bias: Out<f32>, reference: Handle) -> u32 {
    read(reference, |r| bias.put(r.bias))
}

pub extern "C" fn cuTexRefSetMipmapLevelClamp(reference: Handle, least: f32, most: f32) -> u32 {
    change(reference, |r| (r.least, r.most) = (least, most))
}

pub extern "C" fn cuTexRefGetMipmapLevelClamp(least: Out<f32>, most: Out<f32>, reference: Handle) -> u32 {
    read(reference, |r| least.put(r.least).and_then(|()| most.put(r.most)))
}

pub extern "C" fn cuTexRefSetFlags(reference: Handle, flags: u32) -> u32 {
    change(reference, |r| r.flags = flags)
}

pub extern "C" fn cuTexRefGetFlags(flags: Out<u32>, reference: Handle) -> u32 {
    read(reference, |r| flags.put(r.flags))
}
