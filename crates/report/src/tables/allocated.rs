//! Memory from the call that allocated it to the call that freed it, for the table of allocations.

use super::events::AllocationRow;
use crate::call::allocation_size::allocation_size;
use crate::nesting::nest::id;
use crate::resources::ended_calls::{allocated, freed};
use crate::resources::leaks::Thing;
use crate::resources::pools::PoolCall;
use cutap_trace::Exit;
use foldhash::HashMap;

/// The memory of all processes that is not freed.
#[derive(Debug, Default)]
pub(super) struct LiveAllocations(HashMap<Thing, AllocationRow>);

impl LiveAllocations {
    /// A call has ended: the allocations that have ended with it.
    pub fn exit(&mut self, exit: &Exit, start_ns: i64, end_ns: i64) -> Vec<AllocationRow> {
        let mut ended_rows = Vec::new();
        let Some(described) = exit.call.function.described else { return ended_rows };
        if described.function.effects.is_empty() || exit.duration_ns.is_none() || exit.has_failed() {
            return ended_rows;
        }
        let of_call = freed(exit, described.function);
        ended_rows.extend(of_call.iter().filter_map(|thing| self.0.remove(thing)));
        ended_rows.iter_mut().for_each(|row| row.freed = Some((end_ns, id(&exit.call))));
        if let Some(PoolCall { of, address: Some(address), bytes, .. }) = PoolCall::of(exit) {
            let key = (exit.call.thread.process.key, of, address);
            let before = self.0.remove(&key);
            if bytes < 0 {
                let freed = Some((end_ns, id(&exit.call)));
                ended_rows.extend(before.map(|row| AllocationRow { freed, ..row }));
                return ended_rows;
            }
            ended_rows.extend(before);
            let row = AllocationRow {
                call: id(&exit.call),
                pid: exit.call.thread.process.pid,
                thread: exit.call.thread.key,
                memory: of,
                address,
                bytes: Some(bytes.unsigned_abs()),
                call_ns: start_ns,
                start_ns: end_ns,
                freed: None,
            };
            self.0.insert(key, row);
            return ended_rows;
        }
        if exit.call.function.hands_out {
            return ended_rows;
        }
        for thing in allocated(exit, described.function) {
            let row = AllocationRow {
                call: id(&exit.call),
                pid: exit.call.thread.process.pid,
                thread: exit.call.thread.key,
                memory: thing.1,
                address: thing.2,
                bytes: allocation_size(exit),
                call_ns: start_ns,
                start_ns: end_ns,
                freed: None,
            };
            // A call inside this one may have allocated it. Without that, the earlier memory was freed unseen.
            let before = self.0.insert(thing, row);
            ended_rows
                .extend(before.filter(|before| before.call_ns < start_ns || before.thread != exit.call.thread.key));
        }
        ended_rows
    }

    /// What is left at the end, in the order of threads and time.
    pub fn take_live(&mut self) -> Vec<AllocationRow> {
        let mut live: Vec<AllocationRow> = std::mem::take(&mut self.0).into_values().collect();
        live.sort_by_key(|row| (row.thread, row.start_ns, row.address));
        live
    }
}
