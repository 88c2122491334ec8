//! Folds calls that tell little, for a terminal: the driver calls inside a call of the runtime, the look-ups with which
//! a library starts, and repeated cheap questions. It precedes [`Text`] and holds a call back until it has ended. A
//! call that fails is never folded away, and the end says how many calls are folded. Each thread folds on its own.

use crate::call_text::folded_calls::FoldedCalls;
use crate::call_text::sequence::{Printed, Purpose, Sequence};
use crate::call_text::text::Text;
use crate::call_text::unit::Unit;
use cutap_calls::{Role, has_role};
use cutap_trace::{Call, End, Event, EventVisitor, Exit, Function, Layer, Lookup, Process};
use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;

/// A call that is open for longer is printed while it is open.
const PATIENCE_NS: u64 = 50_000_000;
/// A question that takes longer has done more than answer. A busy machine makes each call a millisecond longer.
const CHEAP_NS: u64 = 10_000_000;
/// A call with more calls inside is printed while it is open.
const HELD: usize = 1 << 12;

/// The text output, with folding in front.
#[derive(Debug)]
pub struct Fold<W> {
    text: Text<W>,
    /// By the thread's key.
    threads: HashMap<u32, Held>,
    /// By the function's key: the kind, once it is known.
    kinds: Vec<Option<FunctionKind>>,
    /// Questions that were printed once, by the function's name.
    printed_questions: HashSet<Arc<str>>,
    /// The calls were chosen by a filter: questions are printed as all others.
    is_answer: bool,
    folded: FoldedCalls,
}

/// What a function is to a fold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FunctionKind {
    /// It hands out functions, or starts the driver.
    StartUp,
    /// It asks something.
    Query,
    /// The compiler adds it to each launch.
    Configuration,
    /// It makes or changes an object of a library.
    SetUp,
    /// It starts a library, and stands for all calls inside.
    Library,
    /// A call of the runtime or the driver, which stands for the driver calls inside.
    Runtime,
    /// A library calls another one in a way that is not documented: what is inside is shown in its place.
    Internal,
    /// Calls of it are always printed.
    Other,
}

/// Calls of a thread that are held back, or are around those.
#[derive(Debug, Default)]
struct Held {
    /// Calls that were printed and are open, the outermost first.
    open: Vec<Call>,
    /// Calls that are open and not printed: the calls inside are printed in their place.
    internal: Vec<Call>,
    /// The call that is held back, with all calls inside.
    unit: Option<Unit>,
    run: Sequence,
}

impl<W: io::Write> Fold<W> {
    /// In front of this output.
    pub fn new(text: Text<W>) -> Fold<W> {
        let (threads, printed_questions) = (HashMap::new(), HashSet::new());
        let is_answer = text.format().notes == Some(0);
        Fold { text, threads, kinds: Vec::new(), printed_questions, is_answer, folded: FoldedCalls::default() }
    }

    /// The writer.
    pub fn get_ref(&self) -> &W {
        self.text.get_ref()
    }

    fn kind(&mut self, function: &Function) -> FunctionKind {
        let key = function.key as usize;
        if key >= self.kinds.len() {
            self.kinds.resize(key + 1, None);
        }
        let is_answer = self.is_answer;
        let classify = || {
            let has = |role| function.roles.has(role);
            match function.layer {
                _ if function.entry_only => FunctionKind::Other,
                Layer::DRIVER if [Role::ProcAddress, Role::ExportTable, Role::StartUp].into_iter().any(has) => {
                    FunctionKind::StartUp
                }
                Layer::RUNTIME if has(Role::CallConfiguration) => FunctionKind::Configuration,
                Layer::DRIVER | Layer::RUNTIME if (has(Role::Query) || has(Role::KernelHandle)) && !is_answer => {
                    FunctionKind::Query
                }
                Layer::LIBRARY if has(Role::SetsUp) && !is_answer => FunctionKind::SetUp,
                Layer::LIBRARY if has(Role::StartsLibrary) => FunctionKind::Library,
                Layer::LIBRARY if function.described.is_none() && function.demangled.is_none() => {
                    FunctionKind::Internal
                }
                Layer::RUNTIME | Layer::DRIVER => FunctionKind::Runtime,
                _ => FunctionKind::Other,
            }
        };
        self.kinds.get_mut(key).map_or(FunctionKind::Other, |kind| *kind.get_or_insert_with(classify))
    }

    fn state_of(&mut self, key: u32) -> &mut Held {
        self.threads.entry(key).or_default()
    }

    /// The call that was held back has ended: it is printed, or counted.
    fn end_unit(&mut self, key: u32, unit: Unit, exit: &Exit) -> io::Result<()> {
        let kind = self.kind(&exit.call.function);
        let (call, name) = (&exit.call, &exit.call.function.name);
        // A line about look-ups has their time.
        let is_look_up = kind == FunctionKind::StartUp && !has_role(name.as_bytes(), Role::StartUp);
        let longest = if is_look_up { PATIENCE_NS } else { CHEAP_NS };
        let is_cheap = exit.duration_ns.is_some_and(|ns| ns <= longest) && !exit.late && !unit.has_error();
        if kind == FunctionKind::Query && unit.has_error() && !exit.is_error() && exit.duration_ns.is_some() {
            // The driver refuses, and the runtime answers: the same is printed once.
            let inside = unit.inside();
            if !self.printed_questions.insert(format!("{name}: {}", inside.text).into()) {
                self.folded.add(&unit);
                return Ok(());
            }
        }
        let outer_layer = self.state_of(key).open.last().map(|call| call.function.layer);
        let is_start = self.state_of(key).run.continues_with(Purpose::StartUp, call);
        let purpose = match kind {
            _ if !is_cheap => None,
            FunctionKind::StartUp => Some(Purpose::StartUp),
            // At a start, questions and look-ups take turns.
            FunctionKind::Query if is_start => Some(Purpose::StartUp),
            // A setting of one library by another tells the user nothing.
            FunctionKind::SetUp if outer_layer != Some(Layer::LIBRARY) => Some(Purpose::SetUp),
            _ => None,
        };
        if let Some(purpose) = purpose {
            if !self.state_of(key).run.continues_with(purpose, call) {
                self.print_run(key, Some(call))?;
            }
            self.folded.add(&unit);
            self.state_of(key).run.add(purpose, unit, exit);
            return Ok(());
        }
        let is_silent = is_cheap
            && match kind {
                // Of a library for itself.
                FunctionKind::Query if outer_layer == Some(Layer::LIBRARY) => true,
                FunctionKind::Query if has_role(name.as_bytes(), Role::KernelHandle) => false,
                FunctionKind::Query => !self.printed_questions.insert(name.clone()),
                FunctionKind::Configuration | FunctionKind::SetUp => true,
                FunctionKind::StartUp
                | FunctionKind::Library
                | FunctionKind::Runtime
                | FunctionKind::Internal
                | FunctionKind::Other => false,
            };
        if is_silent {
            self.folded.add(&unit);
            return Ok(());
        }
        self.print_run(key, Some(call))?;
        self.print(&unit, exit)
    }

    fn print(&mut self, unit: &Unit, exit: &Exit) -> io::Result<()> {
        let inside = unit.inside();
        self.folded.add_inside(unit, inside.main_exit);
        let depth = self.level(exit.call.thread.key, exit.call.depth);
        self.text.unit(exit, depth, &inside)
    }

    /// The depth of a line: calls that are not printed do not count.
    fn level(&self, key: u32, depth: u32) -> u32 {
        depth.saturating_sub(self.threads.get(&key).map_or(0, |held| held.internal.len() as u32))
    }

    /// A held call is printed with what became known of it meanwhile.
    fn update_call(&mut self, known: &Call) {
        let Some(held) = self.threads.get_mut(&known.thread.key) else { return };
        held.open.iter_mut().filter(|call| call.is_same_call(known)).for_each(|call| call.clone_from(known));
        held.unit.iter_mut().for_each(|unit| unit.update_call(known));
    }

    /// Prints the calls of a thread that follow one another. `next` is the call behind them.
    fn print_run(&mut self, key: u32, next: Option<&Call>) -> io::Result<()> {
        let Some(held) = self.threads.get_mut(&key).filter(|held| held.run.has_calls()) else { return Ok(()) };
        let run = std::mem::take(&mut held.run);
        let (level, start_ns) = (run.level, run.start_ns);
        match run.into_printed(next.or(held.open.last())) {
            Printed::Nothing => Ok(()),
            Printed::Line(thread, line) => self.text.folded(&thread, self.level(key, level), start_ns, &line),
            Printed::Calls(units) => units.iter().try_for_each(|unit| {
                self.folded.remove(unit);
                let exit = unit.exits().last().cloned();
                exit.map_or(Ok(()), |exit| self.print(unit, &exit))
            }),
        }
    }

    /// Prints the call that is held back as one that is open, and what it has inside by the same rules.
    fn print_open(&mut self, key: u32) -> io::Result<()> {
        let Some(unit) = self.threads.get_mut(&key).and_then(|held| held.unit.take()) else { return Ok(()) };
        // Where there is a line inside, those around it have one too.
        for call in std::mem::take(&mut self.state_of(key).internal) {
            self.state_of(key).open.push(call.clone());
            self.text.enter(&call)?;
        }
        let mut events = unit.into_events().into_iter();
        if let Some(Event::Enter(call)) = events.next() {
            self.print_run(key, Some(&call))?;
            self.state_of(key).open.push(call.clone());
            self.text.enter(&call)?;
        }
        events.try_for_each(|event| event.visit(self))
    }

    /// Prints what has been held back for too long at `now`.
    fn print_due(&mut self, now: u64) -> io::Result<()> {
        let waits = |unit: &Unit| unit.start_ns().saturating_add(PATIENCE_NS) < now;
        let due = |held: &Held| held.unit.as_ref().is_some_and(waits) || held.run.is_due(now);
        let start = |held: &Held| held.unit.as_ref().map_or(held.run.start_ns, Unit::start_ns);
        let mut keys: Vec<(u64, u32)> =
            self.threads.iter().filter(|(_, held)| due(held)).map(|(key, held)| (start(held), *key)).collect();
        keys.sort_unstable();
        for (_, key) in keys {
            // A call inside may be due as well.
            while self.threads.get(&key).is_some_and(|held| held.unit.is_some() && due(held)) {
                self.print_open(key)?;
            }
            if self.threads.get(&key).is_some_and(due) {
                self.print_run(key, None)?;
            }
        }
        Ok(())
    }
}

impl<W: io::Write> EventVisitor<io::Result<()>> for Fold<W> {
    fn process(&mut self, process: &Arc<Process>) -> io::Result<()> {
        self.text.process(process)
    }

    fn enter(&mut self, call: &Call) -> io::Result<()> {
        let (kind, key) = (self.kind(&call.function), call.thread.key);
        if let Some(unit) = &mut self.state_of(key).unit {
            // The start of a library stands for all calls, a setting for questions, a call of the runtime for calls of
            // the runtime and the driver.
            let fits = match unit.layer() {
                _ if unit.is_library_start => !call.function.entry_only && call.function.layer <= Layer::DRIVER,
                Layer::LIBRARY => {
                    matches!(kind, FunctionKind::StartUp | FunctionKind::Query | FunctionKind::Configuration)
                }
                _ => matches!(call.function.layer, Layer::RUNTIME | Layer::DRIVER) && !call.function.entry_only,
            };
            if fits && unit.len() < HELD {
                unit.enter(call);
                return Ok(());
            }
            self.print_open(key)?;
            return self.enter(call);
        }
        let outer_layer = self.state_of(key).open.last().map(|call| call.function.layer);
        match kind {
            FunctionKind::Internal if outer_layer == Some(Layer::LIBRARY) => {
                self.print_run(key, Some(call))?;
                self.state_of(key).internal.push(call.clone());
                return Ok(());
            }
            FunctionKind::Internal | FunctionKind::Other => {}
            _ => {
                let mut unit = Unit::new(call);
                unit.is_library_start = kind == FunctionKind::Library;
                self.state_of(key).unit = Some(unit);
                return Ok(());
            }
        }
        self.print_run(key, Some(call))?;
        if !call.function.entry_only {
            self.state_of(key).open.push(call.clone());
        }
        self.text.enter(call)
    }

    fn exit(&mut self, exit: &Exit) -> io::Result<()> {
        let key = exit.call.thread.key;
        let state = self.state_of(key);
        if let Some(unit) = state.unit.as_mut().filter(|unit| unit.has(&exit.call)) {
            unit.exit(exit);
            if unit.is_outermost(&exit.call) {
                return state.unit.take().map_or(Ok(()), |unit| self.end_unit(key, unit, exit));
            }
            return Ok(());
        }
        self.print_open(key)?;
        self.print_run(key, None)?;
        if let Some(at) = self.state_of(key).internal.iter().rposition(|call| call.is_same_call(&exit.call)) {
            self.state_of(key).internal.truncate(at);
            let unit = Unit::of_exit(exit);
            if exit.is_error() || exit.duration_ns.is_none() {
                return self.print(&unit, exit);
            }
            self.folded.add(&unit);
            return Ok(());
        }
        let open = &mut self.state_of(key).open;
        if let Some(at) = open.iter().rposition(|call| call.is_same_call(&exit.call)) {
            open.truncate(at);
        }
        self.text.exit(exit)
    }

    fn update(&mut self, call: &Call) -> io::Result<()> {
        self.update_call(call);
        self.text.update(call)
    }

    fn lookup(&mut self, lookup: &Lookup) -> io::Result<()> {
        self.print_open(lookup.thread.key)?;
        self.print_run(lookup.thread.key, None)?;
        self.text.lookup(lookup)
    }
}

impl<W: io::Write + Send> crate::Output for Fold<W> {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        event.visit(self)
    }

    fn tick(&mut self, now: u64) -> io::Result<()> {
        self.print_due(now)?;
        crate::Output::tick(&mut self.text, now)
    }

    fn end(&mut self, end: &End) -> io::Result<()> {
        self.print_due(u64::MAX)?;
        self.text.unfinished(end)?;
        if let Some(note) = self.folded.end_note() {
            self.text.write_note(&note)?;
        }
        self.text.notes(end)
    }
}
