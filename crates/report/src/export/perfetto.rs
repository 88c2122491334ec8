//! Perfetto's trace: a track for each process and thread, a slice for each call with its arguments, a
//! flow from a launch to the launch inside it. Packets are written one after the other; names are told
//! once and then referred to, so that memory grows with their number and not with the calls.
//!
//! What is ours among the arguments begins with `cutap.`. The numbers of fields are those of `perfetto_trace.proto`.

use super::proto::Message;
use crate::Output;
use crate::arguments::words;
use crate::values::write_launched;
use cutap_trace::decode::Value;
use cutap_trace::{Call, End, Event, Exit, Process, Returned, State, Thread};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

/// The one sequence of packets that refer to each other's names.
const SEQUENCE: u64 = 1;
/// CLOCK_MONOTONIC and CLOCK_REALTIME as Perfetto numbers them.
const MONOTONIC: u64 = 3;
const REALTIME: u64 = 1;
/// TrackEvent.Type.
const BEGIN: u64 = 1;
const END: u64 = 2;
const INSTANT: u64 = 3;
/// Fields of InternedData.
const CATEGORIES: u32 = 1;
const NAMES: u32 = 2;
const ARGUMENTS: u32 = 3;
const TEXTS: u32 = 29;
/// Names of kernels and the like beyond this many are written out each time.
const MOST_TEXTS: usize = 1 << 16;

/// Perfetto's trace.
#[derive(Debug)]
pub struct Perfetto<W> {
    out: W,
    packet: Message,
    /// Numbers of what was told once, for each field.
    told: HashMap<u32, HashMap<Box<str>, u64>>,
    /// What the next packet tells.
    new: Message,
    begun: bool,
    /// Open calls and the time of the last event of each thread, by its key.
    threads: Vec<Option<Track>>,
    flows: u64,
    text: String,
}

#[derive(Debug, Default)]
struct Track {
    last_ns: u64,
    /// Open calls; a launch has its flow.
    open: Vec<(Arc<Call>, Option<u64>)>,
}

impl<W: io::Write> Perfetto<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Perfetto<W> {
        Perfetto {
            out,
            packet: Message::default(),
            told: HashMap::new(),
            new: Message::default(),
            begun: false,
            threads: Vec::new(),
            flows: 0,
            text: String::new(),
        }
    }

    /// Writes the packet that `fill` fills.
    fn packet(&mut self, fill: impl FnOnce(&mut Message)) -> io::Result<()> {
        self.packet.clear();
        self.packet.number(10, SEQUENCE);
        fill(&mut self.packet);
        let mut head = Message::default();
        head.bytes(1, self.packet.written());
        self.out.write_all(head.written())
    }

    /// The first packets: that names begin here, and which moment is which on the world's clock.
    fn begin(&mut self, process: &Process) -> io::Result<()> {
        if std::mem::replace(&mut self.begun, true) {
            return Ok(());
        }
        let clock = |m: &mut Message, id: u64, ns: u64| {
            m.message(1, |m| {
                m.number(1, id).number(2, ns);
            });
        };
        self.packet(|m| {
            m.number(13, 1).message(6, |m| {
                clock(m, MONOTONIC, process.start_ns);
                clock(m, REALTIME, process.start_realtime_ns);
                m.number(2, MONOTONIC);
            });
        })
    }

    fn process(&mut self, process: &Process) -> io::Result<()> {
        self.begin(process)?;
        let exe = process.exe.rsplit('/').next().unwrap_or(&process.exe);
        self.packet(|m| {
            m.message(60, |m| {
                m.number(1, process_track(process)).message(3, |m| {
                    m.number(1, process.pid.into());
                    for word in &process.arguments {
                        m.text(2, word);
                    }
                    m.text(6, exe);
                });
            });
        })
    }

    /// The thread's track, told when it is new.
    fn track(&mut self, thread: &Thread) -> io::Result<&mut Track> {
        let key = thread.key as usize;
        if key >= self.threads.len() {
            self.threads.resize_with(key + 1, || None);
        }
        if self.threads[key].is_none() {
            self.packet(|m| {
                m.message(60, |m| {
                    m.number(1, thread_track(thread)).number(5, process_track(&thread.process)).message(4, |m| {
                        m.number(1, thread.process.pid.into()).number(2, thread.tid.into());
                    });
                });
            })?;
        }
        Ok(self.threads[key].get_or_insert_with(Track::default))
    }

    /// The number of a name, which the next packet tells if it is new; none when there are too many.
    fn number(&mut self, field: u32, name: &str) -> Option<u64> {
        let told = self.told.entry(field).or_default();
        if let Some(number) = told.get(name) {
            return Some(*number);
        }
        let next = told.len() as u64 + 1;
        if told.len() >= MOST_TEXTS {
            return None;
        }
        told.insert(name.into(), next);
        self.new.message(field, |m| {
            m.number(1, next).text(2, name);
        });
        Some(next)
    }

    /// An argument as Perfetto has them: numbers as numbers, all else as text.
    fn argument(&mut self, name: &str, value: &Value, call: &Call, to: &mut Message) {
        let name = self.number(ARGUMENTS, name);
        self.text.clear();
        match value {
            Value::Missing => return,
            Value::Int(_) | Value::Uint(_) | Value::Bool(_) | Value::Double(_) => {}
            _ => write_launched(value, call.launched(), &mut self.text),
        }
        to.message(4, |m| {
            name.map(|name| m.number(1, name));
            match value {
                Value::Bool(b) => m.number(2, (*b).into()),
                Value::Uint(n) => m.number(3, *n),
                Value::Int(n) => m.signed(4, *n),
                Value::Double(f) => m.double(5, *f),
                _ => m.text(6, &self.text),
            };
        });
    }

    /// The same of a text that comes again and again.
    fn constant(&mut self, name: &str, text: &str, to: &mut Message) {
        let (name, number) = (self.number(ARGUMENTS, name), self.number(TEXTS, text));
        to.message(4, |m| {
            name.map(|name| m.number(1, name));
            match number {
                Some(number) => m.number(17, number),
                None => m.text(6, text),
            };
        });
    }

    /// Writes an event of a thread, and the names that it needs.
    fn event(&mut self, thread: &Thread, ns: u64, event: &Message) -> io::Result<()> {
        let track = self.track(thread)?;
        // Records of a signal handler may be a little out of order, and slices must not be.
        track.last_ns = track.last_ns.max(ns);
        let ns = track.last_ns;
        let new = std::mem::take(&mut self.new);
        self.packet(|m| {
            m.number(8, ns).number(13, 2);
            if !new.written().is_empty() {
                m.bytes(12, new.written());
            }
            m.bytes(11, event.written());
        })?;
        self.new = new;
        self.new.clear();
        Ok(())
    }

    fn enter(&mut self, call: &Arc<Call>) -> io::Result<()> {
        let function = &call.function;
        let mut event = Message::default();
        event.number(9, if function.noted { INSTANT } else { BEGIN }).number(11, thread_track(&call.thread));
        self.number(CATEGORIES, function.layer.word()).map(|n| event.number(3, n));
        let shown = function.shown();
        match self.number(NAMES, shown) {
            Some(number) => event.number(10, number),
            None => event.text(23, shown),
        };
        self.constant("cutap.library", &function.library, &mut event);
        if let Some(version) = call.runtime_version() {
            self.constant("cutap.runtime", version, &mut event);
        }
        for (param, value) in function.params().iter().zip(call.inputs()) {
            self.argument(param.name, value, call, &mut event);
        }
        if function.described.is_none() {
            self.text.clear();
            words(call.args.words(), &mut self.text);
            let name = self.number(ARGUMENTS, "cutap.words");
            event.message(4, |m| {
                name.map(|name| m.number(1, name));
                m.text(6, &self.text);
            });
        }
        let mut flow = None;
        if call.kernel().is_some() && !function.noted {
            let outer = self.track(&call.thread)?.open.iter().rev().find_map(|(_, flow)| *flow);
            match outer {
                // The same launch, one layer further down.
                Some(outer) => event.fixed(48, outer),
                None => {
                    self.flows += 1;
                    event.fixed(47, self.flows)
                }
            };
            flow = outer.or(Some(self.flows));
        }
        self.event(&call.thread, call.start_ns, &event)?;
        if !function.noted {
            self.track(&call.thread)?.open.push((call.clone(), flow));
        }
        Ok(())
    }

    fn exit(&mut self, exit: &Exit) -> io::Result<()> {
        let call = &exit.call;
        let open = &mut self.track(&call.thread)?.open;
        // One that was closed before has no slice any more.
        let Some(place) = open.iter().rposition(|(o, _)| Arc::ptr_eq(o, call)) else { return Ok(()) };
        let left = open.len() - place;
        open.truncate(place);
        // What was left inside ends with it.
        for _ in 1..left {
            let mut event = Message::default();
            event.number(9, END).number(11, thread_track(&call.thread));
            self.event(&call.thread, exit.end_ns, &event)?;
        }
        let mut event = Message::default();
        event.number(9, END).number(11, thread_track(&call.thread));
        if exit.state != State::Done {
            self.constant("cutap.state", exit.state.word(), &mut event);
        }
        match (exit.returned(), exit.status_name(), &exit.value) {
            (_, Some(name), _) => self.constant("cutap.result", name, &mut event),
            (_, _, Some(value)) => self.argument("cutap.result", value, call, &mut event),
            (Some(Returned::Status(n)), ..) => self.argument("cutap.result", &Value::Int(n.into()), call, &mut event),
            (Some(Returned::Number(n) | Returned::Word(n)), ..) => {
                self.argument("cutap.result", &Value::Hex(n), call, &mut event)
            }
            _ => {}
        }
        for (n, value) in &exit.outputs {
            if let Some(param) = call.function.params().get(usize::from(*n)) {
                self.argument(&format!("{} after", param.name), value, call, &mut event);
            }
        }
        if let Some(kernel) = exit.kernel() {
            self.constant("cutap.kernel", kernel, &mut event);
        }
        self.event(&call.thread, exit.end_ns, &event)
    }
}

fn process_track(process: &Process) -> u64 {
    1 << 32 | u64::from(process.key)
}

fn thread_track(thread: &Thread) -> u64 {
    2 << 32 | u64::from(thread.key)
}

impl<W: io::Write> Output for Perfetto<W> {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::Process(process) => self.process(process),
            Event::Enter(call) => self.enter(call),
            Event::Exit(exit) => self.exit(exit),
            Event::Instance(..) | Event::Lookup(_) | Event::Module(_) => Ok(()),
        }
    }

    fn tick(&mut self, _now: u64) -> io::Result<()> {
        self.out.flush()
    }

    /// Calls that never ended stay open: Perfetto shows them as such.
    fn end(&mut self, _end: &End) -> io::Result<()> {
        self.out.flush()
    }
}
