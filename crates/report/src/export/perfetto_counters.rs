//! Counters of Perfetto's trace: clocks of the GPUs, and memory.

use super::clock_tracks::clock_tracks;
use super::perfetto::{COUNTER, Perfetto};
use super::perfetto_fields::{counter, descriptor, event as track_event, packet};
use super::perfetto_tracks::{clock_track, memory_track, process_track};
use super::proto::Message;
use cutap_trace::{End, Exit, Process};
use std::io;

/// CounterDescriptor.Unit.
const BYTES: u64 = 3;

impl<W: io::Write> Perfetto<W> {
    /// The clocks of the GPUs.
    pub(super) fn clocks(&mut self, end: &End) -> io::Result<()> {
        for of in clock_tracks(end) {
            let track = clock_track(of.track);
            self.packet(|m| {
                m.message(packet::TRACK, |m| {
                    m.number(descriptor::TRACK, track).text(descriptor::NAME, &of.name);
                    m.message(descriptor::COUNTER, |m| {
                        m.text(counter::UNIT_NAME, "MHz");
                    });
                });
            })?;
            for (ns, mhz) in of.values() {
                self.counter_value(track, ns, mhz.into())?;
            }
        }
        Ok(())
    }

    /// The counters of memory that a call has changed.
    pub(super) fn memory(&mut self, exit: &Exit) -> io::Result<()> {
        let process = &exit.call.thread.process;
        for step in self.memory_tracks.exit(exit) {
            let track = memory_track(step.track);
            if let Some(kind) = step.new_track {
                self.memory_track(track, process, kind)?;
                self.counter_value(track, process.start_ns, 0)?;
            }
            self.counter_value(track, exit.end_ns, step.bytes)?;
        }
        Ok(())
    }

    fn memory_track(&mut self, track: u64, process: &Process, kind: &str) -> io::Result<()> {
        self.packet(|m| {
            m.message(packet::TRACK, |m| {
                m.number(descriptor::TRACK, track).number(descriptor::PARENT, process_track(process));
                m.text(descriptor::NAME, kind).message(descriptor::COUNTER, |m| {
                    m.number(counter::UNIT, BYTES);
                });
            });
        })
    }

    fn counter_value(&mut self, track: u64, ns: u64, value: u64) -> io::Result<()> {
        let mut event = Message::default();
        event.number(track_event::TYPE, COUNTER).number(track_event::TRACK, track);
        event.number(track_event::COUNTER_VALUE, value);
        self.write_event(ns, &event)
    }
}
