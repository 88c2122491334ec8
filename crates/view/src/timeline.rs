//! Calls, ranges and work of the GPU over time, from the events of a run.

use crate::boxes::{CallerPlace, TimeBox, flag};
use crate::columns::Columns;
use crate::dropped::DroppedBoxes;
use crate::kept::KeptBoxes;
use crate::lanes::{LaneOf, Lanes};
use crate::names::Names;
use cutap_report::{CallDetail, GpuTracks, RangeTracks};
use cutap_trace::{Call, EventVisitor, Exit, GpuRow, Process, RangeMoment, State};
use foldhash::{HashMap, HashSet};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::io;
use std::sync::Arc;

/// Boxes that are kept whole, and sums of the others.
const MOST_BOXES: usize = 200_000;
const MOST_SUMS: usize = 200_000;

/// Boxes in the making.
#[derive(Debug)]
pub struct Timeline {
    names: Names,
    lanes: Lanes,
    kept_boxes: KeptBoxes,
    dropped: DroppedBoxes,
    gpu_tracks: GpuTracks,
    range_tracks: RangeTracks,
    /// The first process began then.
    origin_ns: Option<u64>,
    last_ns: u64,
    /// Whether calls of a function wait, by its key.
    waits: Vec<Option<bool>>,
}

impl Default for Timeline {
    fn default() -> Timeline {
        Timeline::bounded(MOST_BOXES, MOST_SUMS)
    }
}

/// What the page gets.
#[derive(Debug)]
pub struct TimelineData {
    /// Lanes, names, rows of boxes and of sums, and what was dropped.
    pub head: Value,
    /// Columns of boxes: start, time, name, caller, flags.
    pub boxes: Vec<u8>,
    /// Columns of sums: bin, time, name, count.
    pub sums: Vec<u8>,
    /// JSON: for each box of a call its arguments, result, kernel and the number of its stack.
    pub details: Vec<u8>,
}

impl Timeline {
    /// Keeps so many boxes and sums.
    pub fn bounded(boxes: usize, sums: usize) -> Timeline {
        Timeline {
            names: Names::default(),
            lanes: Lanes::default(),
            kept_boxes: KeptBoxes::new(boxes),
            dropped: DroppedBoxes::new(sums),
            gpu_tracks: GpuTracks::default(),
            range_tracks: RangeTracks::default(),
            origin_ns: None,
            last_ns: 0,
            waits: Vec::new(),
        }
    }

    /// When the run began, CLOCK_MONOTONIC.
    pub fn origin_ns(&self) -> u64 {
        self.origin_ns.unwrap_or(0)
    }

    /// From the beginning of the run to the last end.
    pub fn length_ns(&self) -> u64 {
        self.last_ns.saturating_sub(self.origin_ns())
    }

    fn since_start(&self, ns: u64) -> u64 {
        ns.saturating_sub(self.origin_ns())
    }

    /// Keeps the box if it is important enough, else its sums.
    fn add(&mut self, one: TimeBox) {
        let dropped = &mut self.dropped;
        if self.kept_boxes.has_room_for(one.flags, one.took_ns) {
            self.kept_boxes.add(one, &mut |of| dropped.add_box(&of));
        } else {
            dropped.add_box(&one);
        }
    }

    fn waits(&mut self, call: &Call) -> bool {
        let key = call.function.key as usize;
        if key >= self.waits.len() {
            self.waits.resize(key + 1, None);
        }
        *self.waits[key].get_or_insert_with(|| cutap_calls::blocks(call.function.display_name()).is_some())
    }

    /// A range ends that may have begun in another thread.
    fn end_range(&mut self, start: &Call, track: u32, end_ns: u64) {
        let Some(lane) = self.lanes.number(LaneOf::Ranges(track)) else { return };
        self.last_ns = self.last_ns.max(end_ns);
        let one = TimeBox {
            lane,
            depth: 0,
            start_ns: self.since_start(start.start_ns),
            took_ns: end_ns.saturating_sub(start.start_ns),
            name: self.names.function(&start.function),
            flags: flag::RANGE,
            detail: None,
            kernel: None,
            caller: None,
        };
        self.add(one);
    }

    /// What the page gets.
    pub fn finish(self) -> io::Result<TimelineData> {
        let length_ns = self.length_ns();
        let Timeline { names, lanes, kept_boxes, mut dropped, .. } = self;
        let mut boxes = kept_boxes.finish(&mut |of| dropped.add_box(&of));
        nest(&mut boxes);
        let (all_dropped, width_ns) = (dropped.all(), dropped.width_ns());
        let sums = dropped.finish();
        let of_call: HashMap<CallerPlace, usize> = (boxes.iter().enumerate())
            .filter(|(_, of)| of.flags & flag::GPU == 0)
            .filter_map(|(n, of)| Some((of.caller?, n)))
            .collect();
        let caller = |of: &TimeBox| {
            let place = of.caller.filter(|_| of.flags & flag::GPU != 0).and_then(|caller| of_call.get(&caller));
            place.map_or(u32::MAX, |place| *place as u32)
        };
        let mut columns = Columns::default();
        columns.doubles(boxes.iter().map(|of| of.start_ns));
        columns.doubles(boxes.iter().map(|of| of.took_ns));
        columns.words(boxes.iter().map(|of| of.name));
        columns.words(boxes.iter().map(caller));
        columns.bytes(boxes.iter().map(|of| of.flags));
        let mut sum_columns = Columns::default();
        sum_columns.doubles(sums.iter().map(|((_, _, bin, _), _)| bin.saturating_mul(width_ns)));
        sum_columns.doubles(sums.iter().map(|(_, sum)| sum.ns));
        sum_columns.words(sums.iter().map(|((_, _, _, name), _)| *name));
        sum_columns.words(sums.iter().map(|(_, sum)| u32::try_from(sum.count).unwrap_or(u32::MAX)));
        let head = json!({
            "length_ns": length_ns, "lanes": lanes.json(), "names": names.json(),
            "box_rows": rows(boxes.iter().map(|of| (of.lane, of.depth))),
            "sum_rows": rows(sums.iter().map(|((lane, depth, _, _), _)| (*lane, *depth))),
            "boxes": boxes.len(), "sums": sums.len(), "bin_ns": width_ns,
            "dropped": {"count": all_dropped.count, "ns": all_dropped.ns},
        });
        let details = details(&boxes)?;
        Ok(TimelineData { head, boxes: columns.finish(), sums: sum_columns.finish(), details })
    }
}

/// Under a filter that needs the ends of calls, no call knows its depth. Boxes of a lane that overlap get theirs.
fn nest(boxes: &mut [TimeBox]) {
    let end = |of: &TimeBox| of.start_ns.saturating_add(of.took_ns);
    let overlap = |pair: &[TimeBox]| match pair {
        [one, next] => (one.lane, one.depth) == (next.lane, next.depth) && end(one) > next.start_ns,
        _ => false,
    };
    let lanes: HashSet<u32> = boxes.windows(2).filter(|pair| overlap(pair)).map(|pair| pair[0].lane).collect();
    if lanes.is_empty() {
        return;
    }
    boxes.sort_by_key(|of| (of.lane, of.start_ns, Reverse(of.took_ns)));
    let (mut lane, mut open): (u32, Vec<u64>) = (0, Vec::new());
    for of in boxes.iter_mut().filter(|of| lanes.contains(&of.lane)) {
        if std::mem::replace(&mut lane, of.lane) != of.lane {
            open.clear();
        }
        // The end of a call may be known less exactly than the start of the next.
        while open.last().is_some_and(|end| *end <= of.start_ns) {
            open.pop();
        }
        of.depth = u16::try_from(open.len()).unwrap_or(u16::MAX);
        open.push(end(of));
    }
    boxes.sort_by_key(|of| (of.lane, of.depth, of.start_ns));
}

/// Stretches of one lane and depth: lane, depth, first, and the one behind the last.
fn rows(of: impl Iterator<Item = (u32, u16)>) -> Value {
    let mut rows: Vec<(u32, u16, usize, usize)> = Vec::new();
    for (n, (lane, depth)) in of.enumerate() {
        match rows.last_mut().filter(|(l, d, _, _)| (*l, *d) == (lane, depth)) {
            Some(row) => row.3 = n + 1,
            None => rows.push((lane, depth, n, n + 1)),
        }
    }
    rows.into_iter().map(|(lane, depth, from, to)| json!([lane, depth, from, to])).collect()
}

/// The texts of all boxes as JSON. A stack that several calls have is there once. As a tree of values they would take
/// most of the memory.
fn details(boxes: &[TimeBox]) -> io::Result<Vec<u8>> {
    let (mut stacks, mut numbers): (Vec<&[String]>, HashMap<&[String], usize>) = Default::default();
    let mut out = b"{\"calls\":[".to_vec();
    for (n, of) in boxes.iter().enumerate() {
        if n > 0 {
            out.push(b',');
        }
        let Some(detail) = &of.detail else {
            out.push(b'0');
            continue;
        };
        let stack = (!detail.stack.is_empty()).then(|| {
            *numbers.entry(&detail.stack).or_insert_with(|| {
                stacks.push(&detail.stack);
                stacks.len() - 1
            })
        });
        serde_json::to_writer(&mut out, &(&detail.arguments, &detail.result, of.kernel.as_deref(), stack))?;
    }
    out.extend(b"],\"stacks\":");
    serde_json::to_writer(&mut out, &stacks)?;
    out.push(b'}');
    Ok(out)
}

impl EventVisitor for Timeline {
    fn process(&mut self, process: &Arc<Process>) {
        self.origin_ns = Some(self.origin_ns.map_or(process.start_ns, |ns| ns.min(process.start_ns)));
    }

    fn enter(&mut self, call: &Call) {
        match call.function.range {
            Some(RangeMoment::Start) => {
                let (range, name) = self.range_tracks.begin(call);
                if let Some(name) = name {
                    self.lanes.add(LaneOf::Ranges(range.track), "ranges", &name, &call.thread.process);
                }
            }
            Some(RangeMoment::End) => {
                if let Some(range) = self.range_tracks.end(call) {
                    self.end_range(&range.start, range.track, call.start_ns);
                }
            }
            _ => {}
        }
    }

    fn enter_without_exit(&mut self, call: &Call) {
        if matches!(call.function.range, Some(RangeMoment::Start | RangeMoment::End)) {
            return self.enter(call);
        }
        let one = TimeBox {
            lane: self.lanes.thread(&call.thread),
            depth: u16::try_from(call.depth).unwrap_or(u16::MAX),
            start_ns: self.since_start(call.start_ns),
            took_ns: 0,
            name: self.names.function(&call.function),
            flags: if call.function.range.is_some() { flag::RANGE } else { 0 },
            detail: None,
            kernel: None,
            caller: None,
        };
        self.add(one);
    }

    fn exit(&mut self, exit: &Exit) {
        let call = &exit.call;
        if matches!(call.function.range, Some(RangeMoment::Start | RangeMoment::End)) || exit.late {
            return;
        }
        self.last_ns = self.last_ns.max(exit.end_ns);
        let mut flags = if exit.is_error() { flag::ERROR } else { 0 };
        if self.waits(call) {
            flags |= flag::WAIT;
        }
        if exit.state == State::Unfinished {
            flags |= flag::OPEN;
        }
        if call.function.range.is_some() {
            flags |= flag::RANGE;
        }
        let took_ns = exit.took_ns().unwrap_or_else(|| exit.end_ns.saturating_sub(call.start_ns));
        let (lane, name) = (self.lanes.thread(&call.thread), self.names.function(&call.function));
        let depth = u16::try_from(call.depth).unwrap_or(u16::MAX);
        let start_ns = self.since_start(call.start_ns);
        // The texts of a call that is not kept would cost most of the time.
        if !self.kept_boxes.has_room_for(flags, took_ns) {
            return self.dropped.add(lane, depth, start_ns, name, took_ns);
        }
        let detail = Some(Arc::new(CallDetail::of(exit)));
        let (kernel, caller) =
            (exit.kernel().cloned(), Some((call.thread.process.key, call.thread.tid, call.start_ns)));
        self.add(TimeBox { lane, depth, start_ns, took_ns, name, flags, detail, kernel, caller });
    }

    fn row(&mut self, row: &GpuRow) {
        let Some(slice) = self.gpu_tracks.slice(row) else { return };
        let of = LaneOf::Gpu(slice.track);
        if let Some(name) = &slice.new_track {
            self.lanes.add(of, "gpu", name, &row.process);
        }
        let Some(lane) = self.lanes.number(of) else { return };
        self.last_ns = self.last_ns.max(slice.end_ns);
        let one = TimeBox {
            lane,
            depth: 0,
            start_ns: self.since_start(slice.start_ns),
            took_ns: slice.end_ns - slice.start_ns,
            name: self.names.work(&slice.name),
            flags: flag::GPU,
            detail: None,
            kernel: row.kernel.clone(),
            caller: slice.arrow_from.map(|(tid, start_ns)| (row.process.key, tid, start_ns)),
        };
        self.add(one);
    }
}
