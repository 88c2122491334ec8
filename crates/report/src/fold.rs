//! Folds calls that tell little, for a terminal: the look-ups and questions with which a runtime starts, and repeated
//! cheap questions (`cudaGetDevice ×212`). It precedes [`Text`] and holds calls back for a moment. A call that fails,
//! lasts, or has another kind of call inside is never folded. Each thread folds on its own.

use crate::text::Text;
use crate::units::time;
use cutap_calls::{Role, has_role};
use cutap_trace::{Call, End, Event, Exit, Function, Instance, Layer, Thread};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

/// Fewer calls are printed in full.
const FEWEST: usize = 3;
/// A fold is printed at the latest so long after its beginning.
const LONGEST_NS: u64 = 1_000_000_000;
/// A call that lasts longer is printed.
const PATIENCE_NS: u64 = 50_000_000;
/// Functions that a line names.
const NAMED: usize = 3;

/// The text output, with folding in front.
#[derive(Debug)]
pub struct Fold<W> {
    text: Text<W>,
    /// By the thread's key.
    threads: HashMap<u32, Folded>,
    /// By the function's key: the kind, once it is known.
    kinds: Vec<Option<Kind>>,
}

/// What a function is to a fold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It hands out functions, or starts the driver.
    StartUp,
    /// It asks something.
    Query,
    /// Calls of it are always printed.
    Other,
}

/// Calls of a thread that are held back.
#[derive(Debug, Default)]
struct Folded {
    /// Calls that were printed and are open, the outermost first.
    open: Vec<Call>,
    /// Events of the call that is open and held back.
    held: Vec<Event>,
    /// Calls of `held` that are open.
    depth: usize,
    /// Events of the first calls, in case there are no more.
    first: Vec<Event>,
    /// Outermost calls that are folded, by function, in their order.
    functions: Vec<(Arc<Function>, u64)>,
    /// Of all calls, those inside as well.
    calls: usize,
    outermost: usize,
    is_start_up: bool,
    thread: Option<Arc<Thread>>,
    level: u32,
    start_ns: u64,
    end_ns: u64,
}

impl<W: io::Write> Fold<W> {
    /// In front of this output.
    pub fn new(text: Text<W>) -> Fold<W> {
        Fold { text, threads: HashMap::new(), kinds: Vec::new() }
    }

    fn kind(&mut self, function: &Function) -> Kind {
        let key = function.key as usize;
        if key >= self.kinds.len() {
            self.kinds.resize(key + 1, None);
        }
        let found = || {
            let has = |role| has_role(function.name.as_bytes(), role);
            match function.layer {
                Layer::DRIVER if [Role::ProcAddress, Role::ExportTable, Role::StartUp].into_iter().any(has) => {
                    Kind::StartUp
                }
                Layer::DRIVER | Layer::RUNTIME if has(Role::Query) && !function.entry_only => Kind::Query,
                _ => Kind::Other,
            }
        };
        self.kinds.get_mut(key).map_or(Kind::Other, |kind| *kind.get_or_insert_with(found))
    }

    fn enter(&mut self, call: &Call) -> io::Result<()> {
        let kind = self.kind(&call.function);
        let key = call.thread.key;
        if kind == Kind::Other {
            self.flush(key, Some(call))?;
            if !call.function.entry_only {
                self.threads.entry(key).or_default().open.push(call.clone());
            }
            return self.text.handle(&Event::Enter(call.clone()));
        }
        let held = self.threads.entry(key).or_default();
        let is_over = call.start_ns.saturating_sub(held.start_ns) > LONGEST_NS;
        if held.depth == 0 && held.outermost > 0 && (held.level != call.depth || is_over) {
            self.flush(key, Some(call))?;
        }
        let held = self.threads.entry(key).or_default();
        if held.outermost == 0 && held.depth == 0 {
            (held.start_ns, held.level, held.thread) = (call.start_ns, call.depth, Some(call.thread.clone()));
        }
        held.is_start_up |= kind == Kind::StartUp;
        held.depth += 1;
        held.held.push(Event::Enter(call.clone()));
        Ok(())
    }

    fn exit(&mut self, exit: &Exit) -> io::Result<()> {
        let key = exit.call.thread.key;
        let held = self.threads.entry(key).or_default();
        let is_held =
            held.depth > 0 && held.held.iter().any(|event| matches!(event, Event::Enter(call) if call.is(&exit.call)));
        if !is_held {
            self.flush(key, None)?;
            let open = &mut self.threads.entry(key).or_default().open;
            if let Some(at) = open.iter().rposition(|call| call.is(&exit.call)) {
                open.truncate(at);
            }
            return self.text.handle(&Event::Exit(Box::new(exit.clone())));
        }
        let lasted = exit.duration_ns.is_none_or(|ns| ns > PATIENCE_NS);
        if lasted || exit.is_error() || exit.late {
            self.flush(key, None)?;
            let open = &mut self.threads.entry(key).or_default().open;
            if let Some(at) = open.iter().rposition(|call| call.is(&exit.call)) {
                open.truncate(at);
            }
            return self.text.handle(&Event::Exit(Box::new(exit.clone())));
        }
        held.held.push(Event::Exit(Box::new(exit.clone())));
        held.depth -= 1;
        if held.depth == 0 {
            held.outermost += 1;
            held.end_ns = exit.end_ns;
            let events = std::mem::take(&mut held.held);
            held.calls += events.iter().filter(|event| matches!(event, Event::Exit(_))).count();
            if held.outermost < FEWEST {
                held.first.extend(events);
            } else {
                held.first.clear();
            }
            let function = &exit.call.function;
            match held.functions.iter_mut().find(|(of, _)| of.key == function.key) {
                Some((_, count)) => *count += 1,
                None => held.functions.push((function.clone(), 1)),
            }
        }
        Ok(())
    }

    /// A held call is printed with what became known of it meanwhile.
    fn learned(&mut self, known: &Call) {
        let Some(held) = self.threads.get_mut(&known.thread.key) else { return };
        let entered = held.held.iter_mut().filter_map(|event| match event {
            Event::Enter(call) => Some(call),
            _ => None,
        });
        for call in entered.chain(&mut held.open).filter(|call| call.is(known)) {
            call.clone_from(known);
        }
    }

    /// Prints what is held back of a thread: one line for many calls, and open calls in full. `next` is the call
    /// that ends it.
    fn flush(&mut self, key: u32, next: Option<&Call>) -> io::Result<()> {
        let Some(held) = self.threads.get_mut(&key) else { return Ok(()) };
        if held.outermost == 0 && held.held.is_empty() {
            return Ok(());
        }
        let open = std::mem::take(&mut held.open);
        let mut done = std::mem::replace(held, Folded { open, ..Folded::default() });
        let opened =
            done.held.iter().filter_map(|event| if let Event::Enter(call) = event { Some(call) } else { None });
        let ended =
            |call: &Call| done.held.iter().any(|event| matches!(event, Event::Exit(exit) if exit.call.is(call)));
        let still: Vec<Call> = opened.filter(|call| !ended(call)).cloned().collect();
        if done.outermost < FEWEST {
            done.first.iter().try_for_each(|event| self.text.handle(event))?;
        } else if let Some(thread) = &done.thread {
            let around = held.open.last();
            let text = line(&done, next.or(around));
            self.text.folded(thread, done.level, done.start_ns, &text)?;
        }
        held.open.extend(still);
        done.held.drain(..).try_for_each(|event| self.text.handle(&event))
    }

    fn flush_all(&mut self, due: impl Fn(&Folded) -> bool) -> io::Result<()> {
        let mut keys: Vec<(u64, u32)> =
            self.threads.iter().filter(|(_, held)| due(held)).map(|(key, held)| (held.start_ns, *key)).collect();
        keys.sort_unstable();
        keys.into_iter().try_for_each(|(_, key)| self.flush(key, None))
    }
}

/// What a fold says; `near` is a call around it, or after it, which knows its runtime.
fn line(done: &Folded, near: Option<&Call>) -> String {
    let took = time(done.end_ns.saturating_sub(done.start_ns));
    if done.is_start_up {
        let instance = near.filter(|call| call.function.layer == Layer::RUNTIME).and_then(|call| call.instance());
        let of = instance.map_or_else(String::new, |instance| format!(" of {}", runtime(instance)));
        return format!("{} start-up calls{of}, {took} (-a shows them)", done.calls);
    }
    let mut functions: Vec<&(Arc<Function>, u64)> = done.functions.iter().collect();
    functions.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let named = functions.iter().take(NAMED).map(|(function, count)| match count {
        1 => function.shown().to_owned(),
        _ => format!("{} ×{count}", function.shown()),
    });
    let named: Vec<String> = named.collect();
    let more: u64 = functions.iter().skip(NAMED).map(|(_, count)| *count).sum();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}, {took}", named.join(", "))
}

/// `runtime 12.9 in rand`.
fn runtime(instance: &Instance) -> String {
    let version = instance.version.as_deref().unwrap_or("of unknown version");
    format!("runtime {version} in {}", instance.library)
}

impl<W: io::Write + Send> crate::Output for Fold<W> {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::Enter(call) => self.enter(call),
            Event::Exit(exit) => self.exit(exit),
            Event::Lookup(lookup) => {
                self.flush(lookup.thread.key, None)?;
                self.text.handle(event)
            }
            Event::Learned(call) => {
                self.learned(call);
                self.text.handle(event)
            }
            other => self.text.handle(other),
        }
    }

    fn tick(&mut self, now: u64) -> io::Result<()> {
        self.flush_all(|held| {
            let waits = |event: &Event| matches!(event, Event::Enter(call) if call.start_ns + PATIENCE_NS < now);
            held.outermost > 0 && held.start_ns.saturating_add(LONGEST_NS) < now
                || held.depth > 0 && held.held.first().is_some_and(waits)
        })?;
        crate::Output::tick(&mut self.text, now)
    }

    fn end(&mut self, end: &End) -> io::Result<()> {
        self.flush_all(|_| true)?;
        crate::Output::end(&mut self.text, end)
    }
}
