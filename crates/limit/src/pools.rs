//! Pools: counted is what a pool has of its device, as the driver says, not what is in use of it.

use crate::account::{Mark, refuse};
use crate::device::{Device, units};
use crate::hook::Hooked;
use crate::ledger::{self, Entry, Space};
use crate::settle::{self, settle};
use crate::{driver, graphs, linear};
use core::sync::atomic::Ordering;
use cutap_wire::limited::Row;

/// Before a call that takes memory of a pool. None: that of the device.
pub fn before_allocation(hooked: &Hooked, row: &Row, pool: Option<u64>, stream: u64) {
    let bytes = hooked.argument(1);
    if driver::captured_graph(stream).is_some() || bytes == 0 {
        return;
    }
    let Some(device) = Device::current() else { return };
    let Some(pool) = pool.or_else(|| driver::pool(device.number)) else { return };
    let Some(entry) = ledger::find_or_insert(Space::Pool, pool, device.number) else { return };
    let Some([has, used]) = driver::pool_bytes(pool) else { return };
    let more = units(used.saturating_add(bytes).saturating_sub(has));
    // The pool itself may be emptied for this: then it has to grow by more.
    match device.take(more) {
        Some(Err(sum)) => refuse(hooked, row, device, bytes, sum),
        Some(Ok(())) => {
            entry.units.fetch_add(more, Ordering::AcqRel);
            hooked.set_mark(Mark { units: pool & 0xffff_ffff_ffff, device: device.number }.word());
        }
        None => {}
    }
}

/// After it.
pub fn after_allocation(hooked: &Hooked, stream: u64) {
    let Some(mark) = Mark::of_word(hooked.mark()) else {
        if hooked.result() == 0 {
            graphs::add_captured(stream, hooked.argument(1));
        }
        return;
    };
    if let Some(entry) = ledger::find(Space::Pool, mark.units) {
        settle(entry);
        give_back_excess(entry);
    }
}

/// A pool takes memory in large steps. If the last one went above the limit, what it does not need is given back.
fn give_back_excess(entry: &Entry) {
    let Some(device) = Device::numbered(entry.device.load(Ordering::Acquire)) else { return };
    if device.sum() > device.limit
        && let Some([_, used]) = driver::pool_bytes(entry.value())
    {
        driver::trim(entry.value(), used);
        settle(entry);
    }
}

/// Before memory of a pool is given back in the order of a stream: it may be other memory, too.
pub fn before_free(hooked: &Hooked) {
    linear::before_free(hooked, Space::Address);
}

/// After it. The pool has it until the program waits.
pub fn after_free(hooked: &Hooked) {
    if Mark::of_word(hooked.mark()).is_some() {
        linear::after_free(hooked, Space::Address);
    }
    settle::note_free();
}
