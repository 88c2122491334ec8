//! The positions of multiprocessors. cuBLASLt and the engines of cuDNN read them before they choose a kernel in half
//! precision, and do not check whether the table exists.

use super::table::{AnyTable, Table, TableType};
use crate::abi::{Fault, Out, lifecycle};
use crate::driver::device;
use crate::engine::machine;
use std::sync::atomic::Ordering;

/// 1734dc26-800d-4745-8726-c0f1e7dd8bca, as bytes in memory.
pub const UUID: [u8; 16] =
    [0x17, 0x34, 0xdc, 0x26, 0x80, 0x0d, 0x47, 0x45, 0x87, 0x26, 0xc0, 0xf1, 0xe7, 0xdd, 0x8b, 0xca];

/// The table of the real driver has 17 words. This one states a size of 5, because nvrtc and cuDNN use more slots of
/// a larger table, for unknown purposes. Those slots return NOT_SUPPORTED. cuBLASLt does not check the size: it
/// releases its result through slot 13.
pub static CLUSTERS: Table<Clusters, 17> =
    Table::refusing(5, unknown as *const ()).with::<4>(clusters as *const ()).with::<13>(given_back as *const ());

extern "C" fn given_back(_cluster: *const u8, _place: *const u8) -> u32 {
    0
}

extern "C" fn clusters(cluster: Out<*const u8>, place: Out<*const u8>) -> u32 {
    if let Err(Fault(code)) = lifecycle::require_started() {
        return code;
    }
    let plan = machine().floor_plan(device::number(0));
    cluster.put_if_wanted(plan.groups.as_ptr());
    place.put_if_wanted(plan.places.as_ptr());
    0
}

extern "C" fn unknown() -> u32 {
    crate::counts::HIDDEN.fetch_add(1, Ordering::Relaxed);
    Fault::NOT_SUPPORTED.0
}

/// Stands for [`CLUSTERS`].
pub struct Clusters;

impl TableType for Clusters {
    fn table() -> &'static dyn AnyTable {
        &CLUSTERS
    }
}
