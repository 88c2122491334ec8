//! Mipmapped arrays: one array for each level. Each side of a level is half as long as in the level before.

use crate::abi::{Fault, In, Out, answer};
use crate::api::arrays::{self, Description3D};
use crate::driver::{allocation, current};
use crate::state::{Handle, driver_state};

pub extern "C" fn cuMipmappedArrayCreate(mipmap: Out<Handle>, descriptor: In<Description3D>, levels: u32) -> u32 {
    answer(|| {
        mipmap.check()?;
        let descriptor = descriptor.get()?;
        let mut state = driver_state();
        current::require(&state)?;
        let longest = descriptor.width.max(descriptor.height).max(descriptor.depth).max(1);
        let half = |side: u64, n: u32| if side == 0 { 0 } else { (side >> n).max(1) };
        let mut all = Vec::new();
        for n in 0..levels.clamp(1, longest.ilog2() + 1) {
            let (width, height, depth) =
                (half(descriptor.width, n), half(descriptor.height, n), half(descriptor.depth, n));
            all.push(arrays::create(&mut state, Description3D { width, height, depth, ..descriptor })?);
        }
        let handle = state.new_handle();
        state.array.mipmaps.insert(handle, all);
        mipmap.put(handle)
    })
}

pub extern "C" fn cuMipmappedArrayGetLevel(level_array: Out<Handle>, mipmap: Handle, level: u32) -> u32 {
    answer(|| {
        level_array.check()?;
        let state = driver_state();
        let levels = state.array.mipmaps.get(&mipmap).ok_or(Fault::INVALID_HANDLE)?;
        level_array.put(*levels.get(level as usize).ok_or(Fault::INVALID_VALUE)?)
    })
}

pub extern "C" fn cuMipmappedArrayDestroy(mipmap: Handle) -> u32 {
    answer(|| {
        let mut state = driver_state();
        for level in state.array.mipmaps.remove(&mipmap).ok_or(Fault::INVALID_HANDLE)? {
            if let Some(array) = state.array.arrays.remove(&level) {
                allocation::release(&mut state, array.address);
            }
        }
        Ok(())
    })
}
