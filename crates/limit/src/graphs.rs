//! Memory of graphs. A graph takes what its nodes need when it runs, and the driver keeps it for the next one.

use crate::account::{Mark, refuse};
use crate::device::{Device, units};
use crate::hook::Hooked;
use crate::ledger::{self, Space};
use crate::{config, driver, settle};
use core::sync::atomic::Ordering;
use cutap_wire::accounts::UNIT;
use cutap_wire::limited::Row;

fn add(graph: u64, bytes: u64) {
    if let Some(entry) = ledger::find_or_insert(Space::Graph, graph, 0) {
        entry.units.fetch_add(units(bytes), Ordering::AcqRel);
    }
}

/// After memory was taken in a captured stream.
pub fn add_captured(stream: u64, bytes: u64) {
    driver::captured_graph(stream).iter().for_each(|graph| add(*graph, bytes));
}

/// After a node that takes memory was added.
pub fn added(hooked: &Hooked) {
    let place = config::head().map(|head| head.places.node[0] as usize);
    if let Some(bytes) = place.filter(|_| hooked.result() == 0).and_then(|place| hooked.read::<u64>(4, place)) {
        add(hooked.argument(1), bytes);
    }
}

/// After a node of any kind was added.
pub fn added_any(hooked: &Hooked) {
    let Some(head) = config::head().filter(|_| hooked.result() == 0) else { return };
    let Some(parameters) = hooked.index(c"nodeParams") else { return };
    let [_, kind, bytes] = head.places.node;
    if hooked.read::<u32>(parameters, kind as usize) == Some(head.numbers.memory_node)
        && let Some(bytes) = hooked.read::<u64>(parameters, bytes as usize)
    {
        add(hooked.argument(1), bytes);
    }
}

/// After a graph was copied, or one was made that can run.
pub fn copied(hooked: &Hooked, to: Space) {
    let graph = ledger::find(Space::Graph, hooked.argument(1)).filter(|_| hooked.result() == 0);
    if let (Some(graph), Some(copy)) = (graph, hooked.read::<u64>(0, 0)) {
        ledger::insert(to, copy, graph.units.load(Ordering::Acquire), 0, 0);
    }
}

/// Before a graph ends.
pub fn before_end(hooked: &Hooked) {
    for space in [Space::Graph, Space::Executable] {
        if let Some(entry) = ledger::find(space, hooked.argument(0)) {
            entry.remove();
        }
    }
}

/// Before a graph runs. It may use memory of other graphs that ended.
pub fn before_run(hooked: &Hooked, row: &Row) {
    let Some(graph) = ledger::find(Space::Executable, hooked.argument(0)) else { return };
    let Some(device) = Device::current() else { return };
    let Some(entry) = ledger::find_or_insert(Space::GraphPool, device.number, device.number) else { return };
    let needed = graph.units.load(Ordering::Acquire);
    let Some([has, used]) = driver::graph_bytes(device.number) else { return };
    // What a graph has once, the device keeps for it. Until it has run, its device field is 0.
    let is_new = graph.device.swap(1, Ordering::AcqRel) == 0;
    let more = if is_new { needed.saturating_sub(units(has.saturating_sub(used))) } else { 0 };
    match device.take(more) {
        Some(Err(sum)) => {
            graph.device.store(0, Ordering::Release);
            refuse(hooked, row, device, needed * UNIT, sum);
        }
        Some(Ok(())) => {
            entry.units.fetch_add(more, Ordering::AcqRel);
            hooked.set_mark(Mark { units: 0, device: device.number }.word());
        }
        None => {}
    }
}

/// After it, and after the memory of graphs was trimmed.
pub fn settle(device: u64) {
    ledger::find(Space::GraphPool, device).iter().for_each(|entry| settle::settle(entry));
}
