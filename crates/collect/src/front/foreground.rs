//! The process that the shell sees. It belongs to the shell's group, stops when the program is stopped, forwards
//! signals, and ends as the program ended.
//!
//! It reads no event and prints none. It never ends before the program, and at most one round of the collector later.

use crate::front::supervisor::Collector;
use crate::run_dir::window::Schedule;
use crate::start::exit_kind::ExitKind;
use crate::start::signals::{self, ChildChange, ReceivedSignal};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

/// So long after the program's end, a signal may still be the one that ended it.
const SAME_SIGNAL: Duration = Duration::from_millis(500);
/// How often the collector is looked at when nothing happens.
const GLANCE: Duration = Duration::from_millis(500);

/// The shortest wait for a switch of `--delay` or `--duration`.
const SOON: Duration = Duration::from_millis(1);

/// Stands in front of `child` until it has ended and the collector has printed all, or says that it
/// stays: then true. `gone` is called when a collector ends by itself, and may give another; `glance`
/// now and then while the program runs; `note_end` when it has ended. `schedule` has the switches by time.
pub fn wait(
    child: i32,
    mut collector: Collector,
    mut gone: impl FnMut(ExitStatus) -> Option<Collector>,
    mut glance: impl FnMut(),
    note_end: impl FnOnce(ExitKind),
    schedule: &mut Schedule,
) -> (ExitKind, bool) {
    let program = format!("p{child};");
    collector.send(&program);
    let exit_kind = loop {
        let due = schedule.round();
        let received = signals::take(due.map_or(GLANCE, |due| due.clamp(SOON, GLANCE)));
        collector.supervise(&program, &mut gone);
        if received.is_none() {
            glance();
        }
        match received {
            Some(ReceivedSignal { signal: libc::SIGCHLD, .. }) => match signals::change(child) {
                Some(ChildChange::Exited(code)) => break ExitKind::Code(code),
                Some(ChildChange::Killed(signal)) => break ExitKind::Signal(signal),
                Some(ChildChange::Stopped(signal)) => stopped(child, signal),
                None => {}
            },
            // The terminal tells its whole group, so the program has heard it too; and what the
            // program sends to its own group reaches us.
            Some(received) if received.by_process && received.sender != child => signals::send(child, received.signal),
            _ => {}
        }
    };
    note_end(exit_kind);
    collector.send("x");
    let ended_at = Instant::now();
    let program = program + "x";
    loop {
        collector.supervise(&program, &mut gone);
        let is_detached = collector.is_detached();
        if is_detached || collector.exit_status.is_some() {
            return (exit_kind, is_detached);
        }
        // The program is gone: a person who presses Ctrl-C now does not want to read the rest.
        let Some(received) = signals::take(GLANCE / 10) else { continue };
        let impatient = matches!(received.signal, libc::SIGINT | libc::SIGQUIT | libc::SIGTERM | libc::SIGHUP);
        if impatient && ended_at.elapsed() > SAME_SIGNAL {
            collector.discard();
            return (exit_kind, false);
        }
    }
}

/// The program was stopped: the shell must see its job stopped.
fn stopped(child: i32, signal: i32) {
    let exit_like = match (signal, signals::in_foreground()) {
        (_, None) => false,
        // Somebody stopped the program alone, by its number, and will continue it so.
        (libc::SIGSTOP, Some(foreground)) => foreground,
        (_, Some(_)) => true,
    };
    if exit_like {
        signals::stop_as(signal);
        signals::send(child, libc::SIGCONT);
    }
}
