//! Mipmapped arrays: an array a level, each half as wide, high and deep as the one before.

use crate::api::arrays::{self, Description3D};
use crate::driver::abi::{In, Out, answer};
use crate::driver::allocation;
use crate::driver::current;
use crate::driver::driver_state::{Handle, driver_state};
use crate::driver::fault::Fault;

pub extern "C" fn cuMipmappedArrayCreate(found: Out<Handle>, what: In<Description3D>, levels: u32) -> u32 {
    answer(|| {
        found.check()?;
        let what = what.get()?;
        let mut world = driver_state();
        current::require(&world)?;
        let longest = what.width.max(what.height).max(what.depth).max(1);
        let half = |side: u64, n: u32| if side == 0 { 0 } else { (side >> n).max(1) };
        let mut all = Vec::new();
        for n in 0..levels.clamp(1, longest.ilog2() + 1) {
            let (width, height, depth) = (half(what.width, n), half(what.height, n), half(what.depth, n));
            all.push(arrays::create(&mut world, Description3D { width, height, depth, ..what })?);
        }
        let made = world.new_handle();
        world.mipmaps.insert(made, all);
        found.put(made)
    })
}

pub extern "C" fn cuMipmappedArrayGetLevel(found: Out<Handle>, mipmap: Handle, level: u32) -> u32 {
    answer(|| {
        found.check()?;
        let world = driver_state();
        let levels = world.mipmaps.get(&mipmap).ok_or(Fault::INVALID_HANDLE)?;
        found.put(*levels.get(level as usize).ok_or(Fault::INVALID_VALUE)?)
    })
}

pub extern "C" fn cuMipmappedArrayDestroy(mipmap: Handle) -> u32 {
    answer(|| {
        let mut world = driver_state();
        for level in world.mipmaps.remove(&mipmap).ok_or(Fault::INVALID_HANDLE)? {
            if let Some(gone) = world.arrays.remove(&level) {
                allocation::release(&mut world, gone.address);
            }
        }
        Ok(())
    })
}
