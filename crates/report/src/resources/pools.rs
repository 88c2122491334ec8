//! Blocks of pools that allocators keep of CUDA's memory: what is handed out at a time, the most that there was, and
//! which line had it then. Each call of the allocator also says how much is handed out, so a recording that begins in
//! the middle, or lacks calls, has the allocator's own numbers.

use crate::call::resource_names::address;
use crate::nesting::source_line::{LineNames, SourceLine};
use crate::resources::live_bytes::{Holding, LiveBytes};
use cutap_calls::known::Effect;
use cutap_trace::decode::Value;
use cutap_trace::{Exit, Process};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// What a call of an allocator reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PoolCall {
    /// Whose pool: `PyTorch`.
    pub of: &'static str,
    /// `device 0`, `CPU`.
    pub device: String,
    /// The block; none: no block of this size could be had.
    pub address: Option<u64>,
    /// Its bytes; negative: it is given back.
    pub bytes: i64,
    /// Bytes of all blocks that are handed out, and of the pool.
    pub live: u64,
    pub reserved: u64,
}

impl PoolCall {
    /// Of a call that has ended.
    pub fn of(exit: &Exit) -> Option<PoolCall> {
        let effects = exit.call.function.described?.function.effects;
        let (of, at, [bytes, live, reserved, device]) = effects.iter().find_map(|effect| match *effect {
            Effect::Pool { of, at, bytes, live, reserved, device } => Some((of, at, [bytes, live, reserved, device])),
            _ => None,
        })?;
        let args = exit.call.effective_args();
        let value = |n: u8| args.get(usize::from(n));
        let number = |n: u8| value(n)?.number();
        let address = match at {
            Some(at) => Some(value(at).and_then(address)?),
            None => None,
        };
        let whole = |n: f64| if n < 0.0 { 0 } else { n as u64 };
        let (live, reserved) = (whole(number(live)?), whole(number(reserved)?));
        Some(PoolCall {
            of,
            device: device_name(value(device)?)?,
            address,
            bytes: number(bytes)? as i64,
            live,
            reserved,
        })
    }
}

/// `device 0` of a CUDA device, `CPU`.
fn device_name(value: &Value) -> Option<String> {
    let Value::Struct(fields) = value else { return None };
    let of = |name: &str| fields.named().into_iter().find(|(n, _)| *n == name).map(|(_, value)| value);
    let kind = match of("type")? {
        Value::Enum(n, of) => of.values.iter().find(|(value, ..)| value == n).map(|(_, name, ..)| *name),
        _ => None,
    };
    let index = of("index").and_then(|index| index.number());
    Some(match (kind, index) {
        (Some("CUDA"), Some(index)) => format!("device {index}"),
        (Some(kind), Some(index)) if index >= 0.0 => format!("{kind} device {index}"),
        (kind, _) => kind.unwrap_or("unknown device").to_owned(),
    })
}

/// A process, whose pool, and its device.
type PoolKey = (u32, &'static str, String);

/// The line of a row, and whose pool its blocks are of.
type LineKey = (String, &'static str);

/// What a line has of pools.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LineBlocks {
    /// Blocks that it was handed out.
    pub count: u64,
    pub bytes: u64,
    pub holding: Holding,
}

/// A pool of a device.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    bytes: LiveBytes,
    /// What the pool had at the peak.
    reserved: u64,
    reserved_at_end: u64,
    /// By address: the line and the size.
    blocks: HashMap<u64, (u32, u64)>,
}

impl Pool {
    /// The most that was handed out, when, and what the pool had then.
    pub fn peak(&self) -> (u64, u64, u64) {
        let (bytes, ns) = self.bytes.peak();
        (bytes, ns, self.reserved)
    }

    /// What is handed out at the end, and what the pool has.
    pub fn at_end(&self) -> (u64, u64) {
        (self.bytes.live(), self.reserved_at_end)
    }

    /// Blocks that no call showed: handed out before the recording began.
    fn agree(&mut self, live: u64, ns: u64) {
        match live.checked_sub(self.bytes.live()) {
            Some(0) => {}
            Some(more) => self.allocated(UNSEEN, more, ns, None),
            None => self.bytes.freed(UNSEEN, self.bytes.live() - live),
        }
    }

    fn allocated(&mut self, line: u32, bytes: u64, ns: u64, reserved: Option<u64>) {
        let before = self.bytes.peak().0;
        self.bytes.allocated(line, bytes, ns);
        if self.bytes.peak().0 > before {
            self.reserved = reserved.unwrap_or(self.reserved);
        }
    }
}

/// No block of a size could be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub ns: u64,
    pub call: PoolCall,
    pub line: String,
}

/// The number of the row of blocks that no call showed.
const UNSEEN: u32 = 0;
const UNSEEN_LINE: &str = "(handed out before the recording)";

/// All pools of a run.
#[derive(Debug, Default)]
pub(crate) struct Pools {
    pools: BTreeMap<PoolKey, Pool>,
    processes: HashMap<u32, Arc<Process>>,
    numbers: HashMap<LineKey, u32>,
    /// By that number less one.
    lines: Vec<(LineKey, u64, u64)>,
    names: LineNames,
    refusals: Vec<Refusal>,
}

/// Requests without a block that are listed.
pub(crate) const REFUSALS: usize = 4;

impl Pools {
    /// No allocator reported a pool.
    pub fn is_empty(&self) -> bool {
        self.pools.is_empty() && self.refusals.is_empty()
    }

    /// A call of an allocator has ended. `line`: where the program made it.
    pub fn add(&mut self, call: PoolCall, exit: &Exit, line: Option<SourceLine>) {
        let thread = &exit.call.thread;
        let name = match line {
            Some(line) => self.names.name(&line),
            None => match &thread.name {
                Some(name) => format!("(no line, thread {})", cutap_printable::printable(name)),
                None => "(no line)".to_owned(),
            },
        };
        self.processes.entry(thread.process.key).or_insert_with(|| thread.process.clone());
        let Some(address) = call.address else {
            self.refusals.push(Refusal { ns: exit.end_ns, call, line: name });
            return;
        };
        let pool = self.pools.entry((thread.process.key, call.of, call.device.clone())).or_default();
        // What was handed out before this call. The allocator's number includes it.
        let before = i64::try_from(call.live).unwrap_or(i64::MAX).saturating_sub(call.bytes).max(0).unsigned_abs();
        let old_block = pool.blocks.remove(&address);
        if let (Some((line, bytes)), true) = (old_block, call.bytes > 0) {
            // Nothing showed that it was given back.
            pool.bytes.freed(line, bytes);
        }
        pool.agree(before, exit.end_ns);
        pool.reserved_at_end = call.reserved;
        let bytes = call.bytes.unsigned_abs();
        if call.bytes < 0 {
            pool.bytes.freed(old_block.map_or(UNSEEN, |(line, _)| line), bytes);
            return;
        }
        let key = (name, call.of);
        let next = self.lines.len() as u32 + 1;
        let number = *self.numbers.entry(key.clone()).or_insert(next);
        if number == next {
            self.lines.push((key, 0, 0));
        }
        if let Some((_, count, all)) = self.lines.get_mut(number as usize - 1) {
            (*count, *all) = (*count + 1, all.saturating_add(bytes));
        }
        pool.blocks.insert(address, (number, bytes));
        pool.allocated(number, bytes, exit.end_ns, Some(call.reserved));
    }

    /// Pools, those with the highest peak first.
    pub fn pools(&self) -> Vec<(&Process, &PoolKey, &Pool)> {
        let of = |key: &PoolKey| self.processes.get(&key.0);
        let mut pools: Vec<_> = self.pools.iter().filter_map(|(key, pool)| Some((&**of(key)?, key, pool))).collect();
        pools.sort_by_key(|(process, key, pool)| (std::cmp::Reverse(pool.peak().0), process.key, key.1, &key.2));
        pools
    }

    /// Requests for which there was no block.
    pub fn refusals(&self) -> &[Refusal] {
        &self.refusals
    }

    /// What all pools had at their peaks.
    pub fn all_at_peak(&self) -> u64 {
        self.pools.values().map(|pool| pool.peak().0).sum()
    }

    fn holding(&self, number: u32, of: Option<&str>) -> Holding {
        let pools = self.pools.iter().filter(|((_, whose, _), _)| of.is_none_or(|of| of == *whose));
        pools.fold(Holding::default(), |all, (_, pool)| {
            let of = pool.bytes.holding(number);
            Holding { at_peak: all.at_peak + of.at_peak, at_end: all.at_end + of.at_end }
        })
    }

    /// Lines with what they have, in no order.
    pub fn lines(&self) -> Vec<(LineKey, LineBlocks)> {
        let mut lines = Vec::new();
        for (n, (key, count, bytes)) in self.lines.iter().enumerate() {
            let holding = self.holding(n as u32 + 1, Some(key.1));
            lines.push((key.clone(), LineBlocks { count: *count, bytes: *bytes, holding }));
        }
        let owners: std::collections::BTreeSet<&'static str> = self.pools.keys().map(|key| key.1).collect();
        for of in owners {
            let holding = self.holding(UNSEEN, Some(of));
            if holding != Holding::default() {
                lines.push(((UNSEEN_LINE.to_owned(), of), LineBlocks { count: 0, bytes: 0, holding }));
            }
        }
        lines
    }
}
