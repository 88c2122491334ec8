//! Mipmapped arrays: one array for each level. Each side of a level is half as long as in the level before.

use crate::abi::{Fault, In, Out, answer};
use crate::api::arrays::{self, Description3D};
use crate::driver::{allocation, current};
use crate::state::{Handle, driver_state};

pub extern "C" fn cuMipmappedArrayCreate(found: Out<Handle>, what: In<Description3D>, levels: u32) -> u32 {
    answer(|| {
        found.check()?;
        let what = what.get()?;
        let mut state = driver_state();
        current::require(&state)?;
        let longest = what.width.max(what.height).max(what.depth).max(1);
        let half = |side: u64, n: u32| if side == 0 { 0 } else { (side >> n).max(1) };
        let mut all = Vec::new();
        for n in 0..levels.clamp(1, longest.ilog2() + 1) {
            let (width, height, depth) = (half(what.width, n), half(what.height, n), half(what.depth, n));
            all.push(arrays::create(&mut state, Description3D { width, height, depth, ..what })?);
        }
        let made = state.new_handle();
        state.array.mipmaps.insert(made, all);
        found.put(made)
    })
}

pub extern "C" fn cuMipmappedArrayGetLevel(found: Out<Handle>, mipmap: Handle, level: u32) -> u32 {
    answer(|| {
        found.check()?;
        let state = driver_state();
        let levels = state.array.mipmaps.get(&mipmap).ok_or(Fault::INVALID_HANDLE)?;
        found.put(*levels.get(level as usize).ok_or(Fault::INVALID_VALUE)?)
    })
}

pub extern "C" fn cuMipmappedArrayDestroy(mipmap: Handle) -> u32 {
    answer(|| {
        let mut state = driver_state();
        for level in state.array.mipmaps.remove(&mipmap).ok_or(Fault::INVALID_HANDLE)? {
            if let Some(gone) = state.array.arrays.remove(&level) {
                allocation::release(&mut state, gone.address);
            }
        }
        Ok(())
    })
}
