//! Perfetto's trace: a track for each process and thread, a slice for each call with its arguments, a flow from each
//! launch (`flows`). Names are written once and then referred to by number, so memory grows with the number of names.
//!
//! Packets may come in any order, and Perfetto sorts them by time. Under some filters a call is known only at its
//! end, so it is written after the calls inside it. Nested calls of a thread never begin in the same nanosecond, so
//! each end meets its beginning.
//!
//! Arguments that begin with `cutap.` are not the program's. Field numbers are in `perfetto_fields`.

use super::flows::Flows;
use super::gpu_tracks::GpuTracks;
use super::memory_tracks::MemoryTracks;
use super::perfetto_fields::interned::{ARGUMENTS, CATEGORIES, NAMES, TEXTS};
use super::perfetto_fields::{
    annotation, clock, clocks, descriptor, entry, event as track_event, packet, process as of_process,
    thread as of_thread, trace,
};
use super::perfetto_tracks::{flow_to_work, gpu_track, process_track, range_track, thread_track};
use super::pids::Pids;
use super::proto::Message;
use super::range_tracks::RangeTracks;
use crate::Output;
use crate::call::arguments::words;
use crate::call::columns::{CallColumn, CallView, call_columns};
use crate::call::values::write_launched;
use cutap_trace::decode::Value;
use cutap_trace::{
    Call, End, Event, EventVisitor, Exit, Function, GpuRow, Process, RangeMoment, Returned, Thread, printable,
    submits_work,
};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

/// The only sequence of packets. Interned names belong to a sequence.
const SEQUENCE: u64 = 1;
/// Perfetto's numbers of CLOCK_MONOTONIC and CLOCK_REALTIME.
const MONOTONIC: u64 = 3;
const REALTIME: u64 = 1;
/// TracePacket.SequenceFlags.
const NAMES_BEGIN: u64 = 1;
const NAMES_NEEDED: u64 = 2;
/// TrackEvent.Type.
const BEGIN: u64 = 1;
const END: u64 = 2;
const INSTANT: u64 = 3;
pub(super) const COUNTER: u64 = 4;
/// The largest number of interned names of a kind. Other names are written each time.
const MOST_TEXTS: usize = 1 << 16;

/// Perfetto's trace.
#[derive(Debug)]
pub struct Perfetto<W> {
    out: W,
    packet: Message,
    /// Numbers of interned names, by the field of InternedData.
    interned: HashMap<u32, HashMap<Box<str>, u64>>,
    /// The interned names of each function, by its key.
    functions: Vec<Option<Arc<Interned>>>,
    /// The last status. It is nearly always that of the next call, too.
    status: (&'static str, Option<u64>),
    /// New names, for the next packet.
    new: Message,
    has_begun: bool,
    /// Open calls of each thread, by its key.
    threads: Vec<Option<Flows>>,
    flows: u64,
    gpu_tracks: GpuTracks,
    range_tracks: RangeTracks,
    pub(super) memory_tracks: MemoryTracks,
    /// The run has rows of GPU time.
    has_rows: bool,
    pids: Pids,
    text: String,
    /// The columns that exports have, with their names there.
    annotations: Arc<[(String, &'static CallColumn)]>,
}

/// Numbers of the names of a function. `None` where there are too many names.
#[derive(Debug)]
struct Interned {
    category: Option<u64>,
    name: Option<u64>,
    library: Option<u64>,
    /// The names of each parameter before and after the call.
    params: Box<[(Option<u64>, Option<u64>)]>,
    /// Arguments that begin with `cutap.`.
    library_is: Option<u64>,
    runtime_is: Option<u64>,
    result_is: Option<u64>,
}

impl<W: io::Write> Perfetto<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Perfetto<W> {
        Perfetto {
            out,
            packet: Message::default(),
            interned: HashMap::new(),
            functions: Vec::new(),
            status: ("", None),
            new: Message::default(),
            has_begun: false,
            threads: Vec::new(),
            flows: 0,
            gpu_tracks: GpuTracks::default(),
            range_tracks: RangeTracks::default(),
            memory_tracks: MemoryTracks::default(),
            has_rows: false,
            pids: Pids::default(),
            text: String::new(),
            annotations: call_columns()
                .iter()
                .filter(|f| f.is_in_exports())
                .map(|f| (format!("cutap.{}", f.name), f))
                .collect(),
        }
    }

    /// Writes the packet that `fill` fills.
    pub(super) fn packet(&mut self, fill: impl FnOnce(&mut Message)) -> io::Result<()> {
        self.packet.clear();
        self.packet.number(packet::SEQUENCE, SEQUENCE);
        fill(&mut self.packet);
        let mut framed = Message::default();
        framed.bytes(trace::PACKET, self.packet.written());
        self.out.write_all(framed.written())
    }

    /// Writes the first packet: names begin here, and the offset of the clocks.
    fn begin(&mut self, process: &Process) -> io::Result<()> {
        if std::mem::replace(&mut self.has_begun, true) {
            return Ok(());
        }
        let reading = |m: &mut Message, id: u64, ns: u64| {
            m.message(clocks::CLOCK, |m| {
                m.number(clock::ID, id).number(clock::TIME, ns);
            });
        };
        self.packet(|m| {
            m.number(packet::FLAGS, NAMES_BEGIN).message(packet::CLOCKS, |m| {
                reading(m, MONOTONIC, process.start_ns);
                reading(m, REALTIME, process.start_realtime_ns);
                m.number(clocks::PRIMARY, MONOTONIC);
            });
        })
    }

    /// The track of a thread. A new track is written.
    fn track(&mut self, thread: &Thread) -> io::Result<&mut Flows> {
        let key = thread.key as usize;
        if key >= self.threads.len() {
            self.threads.resize_with(key + 1, || None);
        }
        if self.threads[key].is_none() {
            let pid = self.pids.number(&thread.process);
            self.packet(|m| {
                m.message(packet::TRACK, |m| {
                    m.number(descriptor::TRACK, thread_track(thread));
                    m.number(descriptor::PARENT, process_track(&thread.process)).message(descriptor::THREAD, |m| {
                        m.number(of_thread::PID, pid.into()).number(of_thread::TID, thread.tid.into());
                        if let Some(name) = &thread.name {
                            m.text(of_thread::NAME, &printable(name));
                        }
                    });
                });
            })?;
        }
        Ok(self.threads[key].get_or_insert_with(Flows::default))
    }

    /// The number of a name, which goes into the next packet if it is new. `None` where there are too many names.
    fn number(&mut self, field: u32, name: &str) -> Option<u64> {
        let numbers = self.interned.entry(field).or_default();
        if let Some(number) = numbers.get(name) {
            return Some(*number);
        }
        let next = numbers.len() as u64 + 1;
        if numbers.len() >= MOST_TEXTS {
            return None;
        }
        numbers.insert(name.into(), next);
        self.new.message(field, |m| {
            m.number(entry::NUMBER, next).text(entry::TEXT, name);
        });
        Some(next)
    }

    /// The numbers of the names of a function. New names go into the next packet.
    fn intern_names(&mut self, function: &Function) -> Arc<Interned> {
        let key = function.key as usize;
        if let Some(Some(names)) = self.functions.get(key) {
            return names.clone();
        }
        let params = function.params().iter();
        let names = Arc::new(Interned {
            category: self.number(CATEGORIES, function.layer.name()),
            name: self.number(NAMES, function.display_name()),
            library: self.number(TEXTS, &function.library),
            params: params
                .map(|p| (self.number(ARGUMENTS, p.name), self.number(ARGUMENTS, &format!("{} after", p.name))))
                .collect(),
            library_is: self.number(ARGUMENTS, "cutap.library"),
            runtime_is: self.number(ARGUMENTS, "cutap.runtime"),
            result_is: self.number(ARGUMENTS, "cutap.result"),
        });
        if key >= self.functions.len() {
            self.functions.resize(key + 1, None);
        }
        self.functions[key] = Some(names.clone());
        names
    }

    /// Adds an argument: a number as a number, anything else as text.
    fn argument(&mut self, name: Option<u64>, value: &Value, call: &Call, to: &mut Message) {
        self.text.clear();
        match value {
            Value::Missing => return,
            Value::Int(_) | Value::Uint(_) | Value::Bool(_) | Value::Single(_) | Value::Double(_) => {}
            _ => write_launched(value, call.driver_args(), &mut self.text),
        }
        to.message(track_event::ANNOTATION, |m| {
            name.map(|name| m.number(annotation::NAME, name));
            match value {
                Value::Bool(b) => m.number(annotation::BOOL, (*b).into()),
                Value::Uint(n) => m.number(annotation::UINT, *n),
                Value::Int(n) => m.signed(annotation::INT, *n),
                Value::Single(f) => m.double(annotation::DOUBLE, f64::from(*f)),
                Value::Double(f) => m.double(annotation::DOUBLE, *f),
                _ => m.text(annotation::TEXT, &self.text),
            };
        });
    }

    /// Adds a text argument that occurs often, by its number if it has one.
    fn constant(name: Option<u64>, text: &str, number: Option<u64>, to: &mut Message) {
        to.message(track_event::ANNOTATION, |m| {
            name.map(|name| m.number(annotation::NAME, name));
            match number {
                Some(number) => m.number(annotation::TEXT_NUMBER, number),
                None => m.text(annotation::TEXT, text),
            };
        });
    }

    /// Adds the columns that exports have.
    fn annotate(&mut self, of: CallView<'_>, to: &mut Message) {
        let (mut text, annotations) = (std::mem::take(&mut self.text), self.annotations.clone());
        for (name, column) in annotations.iter() {
            if column.annotate(of, &mut text) {
                let (name, number) = (self.number(ARGUMENTS, name), self.number(TEXTS, &text));
                Self::constant(name, &text, number, to);
            }
        }
        self.text = text;
    }

    /// Writes a track of a process that is no thread.
    fn new_track(&mut self, track: u64, process: &Process, name: &str) -> io::Result<()> {
        self.packet(|m| {
            m.message(packet::TRACK, |m| {
                m.number(descriptor::TRACK, track).number(descriptor::PARENT, process_track(process));
                m.text(descriptor::NAME, name);
            });
        })
    }

    /// A range begins that may end in another thread.
    fn begin_range(&mut self, call: &Call) -> io::Result<()> {
        let (range, new_track) = self.range_tracks.begin(call);
        let track = range_track(range.track);
        if let Some(name) = new_track {
            self.new_track(track, &call.thread.process, &name)?;
        }
        let mut event = Message::default();
        event.number(track_event::TYPE, BEGIN).number(track_event::TRACK, track);
        let names = self.intern_names(&call.function);
        names.category.map(|n| event.number(track_event::CATEGORY, n));
        match names.name {
            Some(number) => event.number(track_event::NAME_NUMBER, number),
            None => event.text(track_event::NAME, call.function.display_name()),
        };
        Self::constant(names.library_is, &call.function.library, names.library, &mut event);
        self.annotate(CallView::enter(call), &mut event);
        self.write_event(call.start_ns, &event)
    }

    /// Such a range ends.
    fn end_range(&mut self, call: &Call) -> io::Result<()> {
        let Some(range) = self.range_tracks.end(call) else { return Ok(()) };
        let mut event = Message::default();
        event.number(track_event::TYPE, END).number(track_event::TRACK, range_track(range.track));
        self.write_event(call.start_ns, &event)
    }

    /// Writes an event of a thread, and the names that it needs.
    fn event(&mut self, thread: &Thread, ns: u64, event: &Message) -> io::Result<()> {
        self.track(thread)?;
        self.write_event(ns, event)
    }

    /// Writes an event of a track that exists, and the names that it needs.
    pub(super) fn write_event(&mut self, ns: u64, event: &Message) -> io::Result<()> {
        let new = std::mem::take(&mut self.new);
        self.packet(|m| {
            m.number(packet::TIME, ns).number(packet::FLAGS, NAMES_NEEDED);
            if !new.written().is_empty() {
                m.bytes(packet::INTERNED, new.written());
            }
            m.bytes(packet::EVENT, event.written());
        })?;
        self.new = new;
        self.new.clear();
        Ok(())
    }
}

impl<W: io::Write> EventVisitor<io::Result<()>> for Perfetto<W> {
    fn process(&mut self, process: &Arc<Process>) -> io::Result<()> {
        self.begin(process)?;
        let exe = self.pids.name(process);
        let pid = self.pids.number(process);
        self.packet(|m| {
            m.message(packet::TRACK, |m| {
                m.number(descriptor::TRACK, process_track(process)).message(descriptor::PROCESS, |m| {
                    m.number(of_process::PID, pid.into());
                    for word in &process.arguments {
                        m.text(of_process::ARGUMENT, &printable(word));
                    }
                    m.text(of_process::NAME, &exe);
                });
            });
        })
    }

    fn enter(&mut self, call: &Call) -> io::Result<()> {
        let function = &call.function;
        match function.range {
            Some(RangeMoment::Start) => return self.begin_range(call),
            Some(RangeMoment::End) => return self.end_range(call),
            _ => self.memory_tracks.enter(call),
        }
        let mut event = Message::default();
        event
            .number(track_event::TYPE, if function.entry_only { INSTANT } else { BEGIN })
            .number(track_event::TRACK, thread_track(&call.thread));
        let names = self.intern_names(function);
        names.category.map(|n| event.number(track_event::CATEGORY, n));
        match names.name {
            Some(number) => event.number(track_event::NAME_NUMBER, number),
            None => event.text(track_event::NAME, function.display_name()),
        };
        Self::constant(names.library_is, &function.library, names.library, &mut event);
        if let Some(version) = call.runtime_version() {
            let number = self.number(TEXTS, version);
            Self::constant(names.runtime_is, version, number, &mut event);
        }
        for ((name, _), value) in names.params.iter().zip(call.inputs()) {
            self.argument(*name, value, call, &mut event);
        }
        if function.described.is_none() && function.range.is_none() {
            self.text.clear();
            words(call.args.words(), &mut self.text);
            let name = self.number(ARGUMENTS, "cutap.words");
            event.message(track_event::ANNOTATION, |m| {
                name.map(|name| m.number(annotation::NAME, name));
                m.text(annotation::TEXT, &self.text);
            });
        }
        if function.entry_only && function.range.is_some() {
            self.annotate(CallView::enter(call), &mut event);
        }
        if !function.entry_only {
            let next = self.flows + 1;
            let new_flow = self.track(&call.thread)?.begin_call(call, next, &mut event);
            self.flows = self.flows.max(new_flow.unwrap_or(0));
        }
        if self.has_rows && submits_work(call) {
            event.fixed(track_event::FLOW_IDS, flow_to_work(&call.thread.process, call.thread.tid, call.start_ns));
        }
        self.event(&call.thread, call.start_ns, &event)
    }

    fn row(&mut self, row: &GpuRow) -> io::Result<()> {
        // Readings of the clock come before the first work.
        self.has_rows = true;
        let Some(slice) = self.gpu_tracks.slice(row) else { return Ok(()) };
        let track = gpu_track(slice.track);
        if let Some(name) = &slice.new_track {
            self.new_track(track, &row.process, name)?;
        }
        let mut event = Message::default();
        event.number(track_event::TYPE, BEGIN).number(track_event::TRACK, track);
        match self.number(NAMES, &slice.name) {
            Some(number) => event.number(track_event::NAME_NUMBER, number),
            None => event.text(track_event::NAME, &slice.name),
        };
        if let Some((tid, ns)) = slice.arrow_from {
            event.fixed(track_event::FLOW_IDS, flow_to_work(&row.process, tid, ns));
        }
        self.write_event(slice.start_ns, &event)?;
        let mut event = Message::default();
        event.number(track_event::TYPE, END).number(track_event::TRACK, track);
        self.write_event(slice.end_ns, &event)
    }

    fn exit(&mut self, exit: &Exit) -> io::Result<()> {
        self.memory(exit)?;
        let call = &exit.call;
        let mut event = Message::default();
        event.number(track_event::TYPE, END).number(track_event::TRACK, thread_track(&call.thread));
        // A late call was closed before.
        let Some(unfinished) = self.track(&call.thread)?.end_call(call, &mut event) else { return Ok(()) };
        // Calls inside that did not end are closed with it.
        for _ in 0..unfinished {
            let mut event = Message::default();
            event.number(track_event::TYPE, END).number(track_event::TRACK, thread_track(&call.thread));
            self.event(&call.thread, exit.end_ns, &event)?;
        }
        let names = self.intern_names(&call.function);
        match (exit.returned(), exit.status_name(), &exit.value) {
            (_, Some(name), _) => {
                if !std::ptr::eq(self.status.0, name) {
                    self.status = (name, self.number(TEXTS, name));
                }
                Self::constant(names.result_is, name, self.status.1, &mut event);
            }
            (_, _, Some(value)) => self.argument(names.result_is, value, call, &mut event),
            (Some(Returned::Status(n)), ..) => self.argument(names.result_is, &Value::Int(n.into()), call, &mut event),
            (Some(Returned::Number(n) | Returned::Word(n)), ..) => {
                self.argument(names.result_is, &Value::Hex(n), call, &mut event)
            }
            _ => {}
        }
        for (n, value) in &exit.outputs {
            if let Some((_, name)) = names.params.get(usize::from(*n)) {
                self.argument(*name, value, call, &mut event);
            }
        }
        for log in &exit.logs {
            let (name, number) = (self.number(ARGUMENTS, log.name), self.number(TEXTS, &log.text.text));
            Self::constant(name, &log.text.text, number, &mut event);
        }
        self.annotate(CallView::exit(exit), &mut event);
        self.event(&call.thread, exit.end_ns, &event)
    }
}

impl<W: io::Write + Send> Output for Perfetto<W> {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        event.visit(self)
    }

    fn tick(&mut self, _now: u64) -> io::Result<()> {
        self.out.flush()
    }

    /// Calls that never ended stay open in Perfetto. Some filters decide on a call only at the end.
    fn end(&mut self, end: &End) -> io::Result<()> {
        for exit in &end.unfinished {
            if !self.track(&exit.call.thread)?.is_open(&exit.call) {
                self.enter(&exit.call)?;
            }
        }
        self.clocks(end)?;
        self.out.flush()
    }
}
