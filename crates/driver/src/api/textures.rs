//! Textures and surfaces: handles, and settings that can be queried. No kernel reads through them.

use crate::abi::{Answer, Fault, In, Out, answer};
use crate::driver::current;
use crate::engine::refused;
use crate::state::{Handle, TextureObject, TextureReference, driver_state, lookup, lookup_mut};

/// CUDA_RESOURCE_DESC, CUDA_TEXTURE_DESC and CUDA_RESOURCE_VIEW_DESC, as bytes.
type Resource = [u64; 18];
type Sampling = [u64; 13];
type View = [u64; 14];

fn create(function: &str, object: Out<Handle>, resource: In<Resource>, sampling: In<Sampling>, view: In<View>) -> u32 {
    answer(|| {
        refused::on_gpus(function)?;
        let resource = resource.get()?;
        // Kind (array, mipmapped array, line, plane), and its handle or address.
        if resource[0] as u32 > 3 || resource[1] == 0 {
            return Err(Fault::INVALID_VALUE);
        }
        let mut state = driver_state();
        current::require(&state)?;
        object.check()?;
        let handle = state.new_handle();
        state
            .array
            .textures
            .insert(handle, TextureObject { resource, sampling: sampling.get().ok(), view: view.get().ok() });
        object.put(handle)
    })
}

pub extern "C" fn cuTexObjectCreate(
    object: Out<Handle>,
    resource: In<Resource>,
    sampling: In<Sampling>,
    view: In<View>,
) -> u32 {
    create("cuTexObjectCreate", object, resource, sampling, view)
}

pub extern "C" fn cuTexObjectDestroy(object: Handle) -> u32 {
    answer(|| {
        driver_state().array.textures.remove(&object);
        Ok(())
    })
}

fn get_description<T>(out: Out<T>, object: Handle, description: impl FnOnce(&TextureObject) -> Option<T>) -> u32 {
    answer(|| {
        out.check()?;
        let state = driver_state();
        out.put(state.array.textures.get(&object).and_then(description).ok_or(Fault::INVALID_VALUE)?)
    })
}

pub extern "C" fn cuTexObjectGetResourceDesc(out: Out<Resource>, object: Handle) -> u32 {
    get_description(out, object, |o| Some(o.resource))
}

pub extern "C" fn cuTexObjectGetTextureDesc(out: Out<Sampling>, object: Handle) -> u32 {
    get_description(out, object, |o| o.sampling)
}

pub extern "C" fn cuTexObjectGetResourceViewDesc(out: Out<View>, object: Handle) -> u32 {
    get_description(out, object, |o| o.view)
}

pub extern "C" fn cuSurfObjectCreate(object: Out<Handle>, resource: In<Resource>) -> u32 {
    create("cuSurfObjectCreate", object, resource, In::at(0), In::at(0))
}

pub extern "C" fn cuSurfObjectDestroy(object: Handle) -> u32 {
    cuTexObjectDestroy(object)
}

pub extern "C" fn cuSurfObjectGetResourceDesc(out: Out<Resource>, object: Handle) -> u32 {
    cuTexObjectGetResourceDesc(out, object)
}

pub extern "C" fn cuTexRefCreate(reference: Out<Handle>) -> u32 {
    answer(|| {
        reference.check()?;
        let mut state = driver_state();
        let handle = state.new_handle();
        state.array.references.insert(handle, TextureReference::default());
        reference.put(handle)
    })
}

pub extern "C" fn cuTexRefDestroy(reference: Handle) -> u32 {
    answer(|| driver_state().array.references.remove(&reference).map(drop).ok_or(Fault::INVALID_HANDLE))
}

fn read(reference: Handle, property: impl FnOnce(&TextureReference) -> Answer) -> u32 {
    answer(|| property(lookup(&driver_state().array.references, reference)?))
}

fn change(reference: Handle, edit: impl FnOnce(&mut TextureReference)) -> u32 {
    answer(|| lookup_mut(&mut driver_state().array.references, reference).map(edit))
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
