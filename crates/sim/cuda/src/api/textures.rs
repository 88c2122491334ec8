//! Textures and surfaces: handles, and settings that can be queried. No kernel reads through them.

use crate::abi::{Answer, Fault, In, Out, answer};
use crate::driver::current;
use crate::state::{Handle, TextureObject, TextureReference, driver_state, known, known_mut};

/// CUDA_RESOURCE_DESC, CUDA_TEXTURE_DESC and CUDA_RESOURCE_VIEW_DESC, as bytes.
type Resource = [u64; 18];
type Sampling = [u64; 13];
type View = [u64; 14];

fn create(found: Out<Handle>, resource: In<Resource>, sampling: In<Sampling>, view: In<View>) -> u32 {
    answer(|| {
        let resource = resource.get()?;
        // Kind (array, mipmapped array, line, plane), and its handle or address.
        if resource[0] as u32 > 3 || resource[1] == 0 {
            return Err(Fault::INVALID_VALUE);
        }
        let mut state = driver_state();
        current::require(&state)?;
        found.check()?;
        let made = state.new_handle();
        state
            .array
            .textures
            .insert(made, TextureObject { resource, sampling: sampling.get().ok(), view: view.get().ok() });
        found.put(made)
    })
}

pub extern "C" fn cuTexObjectCreate(
    found: Out<Handle>,
    resource: In<Resource>,
    sampling: In<Sampling>,
    view: In<View>,
) -> u32 {
    create(found, resource, sampling, view)
}

pub extern "C" fn cuTexObjectDestroy(object: Handle) -> u32 {
    answer(|| {
        driver_state().array.textures.remove(&object);
        Ok(())
    })
}

fn told<T>(out: Out<T>, object: Handle, what: impl FnOnce(&TextureObject) -> Option<T>) -> u32 {
    answer(|| {
        out.check()?;
        let state = driver_state();
        out.put(state.array.textures.get(&object).and_then(what).ok_or(Fault::INVALID_VALUE)?)
    })
}

pub extern "C" fn cuTexObjectGetResourceDesc(out: Out<Resource>, object: Handle) -> u32 {
    told(out, object, |o| Some(o.resource))
}

pub extern "C" fn cuTexObjectGetTextureDesc(out: Out<Sampling>, object: Handle) -> u32 {
    told(out, object, |o| o.sampling)
}

pub extern "C" fn cuTexObjectGetResourceViewDesc(out: Out<View>, object: Handle) -> u32 {
    told(out, object, |o| o.view)
}

pub extern "C" fn cuSurfObjectCreate(found: Out<Handle>, resource: In<Resource>) -> u32 {
    create(found, resource, In::at(0), In::at(0))
}

pub extern "C" fn cuSurfObjectDestroy(object: Handle) -> u32 {
    cuTexObjectDestroy(object)
}

pub extern "C" fn cuSurfObjectGetResourceDesc(out: Out<Resource>, object: Handle) -> u32 {
    cuTexObjectGetResourceDesc(out, object)
}

pub extern "C" fn cuTexRefCreate(found: Out<Handle>) -> u32 {
    answer(|| {
        found.check()?;
        let mut state = driver_state();
        let made = state.new_handle();
        state.array.references.insert(made, TextureReference::default());
        found.put(made)
    })
}

pub extern "C" fn cuTexRefDestroy(reference: Handle) -> u32 {
    answer(|| driver_state().array.references.remove(&reference).map(drop).ok_or(Fault::INVALID_HANDLE))
}

fn read(reference: Handle, what: impl FnOnce(&TextureReference) -> Answer) -> u32 {
    answer(|| what(known(&driver_state().array.references, reference)?))
}

fn change(reference: Handle, what: impl FnOnce(&mut TextureReference)) -> u32 {
    answer(|| known_mut(&mut driver_state().array.references, reference).map(what))
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
