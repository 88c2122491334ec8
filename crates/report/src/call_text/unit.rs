//! A call that is held back until it has ended, with the calls inside it. The last words of its line say what
//! those were.

use crate::call_text::launch::Launch;
use crate::format::units::time;
use cutap_calls::Role;
use cutap_trace::{Call, Event, Exit, Layer};

/// Functions that a line names.
const NAMED: usize = 2;
/// The time of a faster call inside is left out.
const SLOW_NS: u64 = 1_000_000;

/// A call and the calls inside.
#[derive(Debug)]
pub(crate) struct Unit {
    events: Vec<Event>,
    calls: usize,
    has_error: bool,
    /// It is the start of a library, which may have any call inside.
    pub is_library_start: bool,
}

/// What a line says about the calls inside.
#[derive(Debug, Default)]
pub(crate) struct Inside<'a> {
    /// The call that stands for all: it, or the launch for which the compiler's code is there.
    pub main_exit: Option<&'a Exit>,
    /// `cuMemAlloc_v2`, `cuInit 210ms, 123 start-up calls`.
    pub text: String,
    /// So many bytes of the text name errors and long calls: a line keeps them.
    pub important: usize,
    /// It names an error.
    pub has_error: bool,
}

impl Unit {
    /// A call that begins.
    pub fn new(call: &Call) -> Unit {
        Unit { events: vec![Event::Enter(call.clone())], calls: 1, has_error: false, is_library_start: false }
    }

    /// A call that has ended and has nothing inside.
    pub fn of_exit(exit: &Exit) -> Unit {
        let mut unit = Unit::new(&exit.call);
        unit.exit(exit);
        unit
    }

    /// A call inside begins.
    pub fn enter(&mut self, call: &Call) {
        self.calls += 1;
        self.events.push(Event::Enter(call.clone()));
    }

    /// A call has ended.
    pub fn exit(&mut self, exit: &Exit) {
        self.has_error |= exit.is_error() || exit.duration_ns.is_none();
        self.events.push(Event::Exit(Box::new(exit.clone())));
    }

    /// What became known of a call.
    pub fn update_call(&mut self, known: &Call) {
        let calls =
            self.events.iter_mut().filter_map(|event| if let Event::Enter(call) = event { Some(call) } else { None });
        calls.filter(|call| call.is_same_call(known)).for_each(|call| call.clone_from(known));
    }

    /// Events that are held.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Calls that it is.
    pub fn calls(&self) -> usize {
        self.calls
    }

    /// Whether a call of it has failed or did not return.
    pub fn has_error(&self) -> bool {
        self.has_error
    }

    /// The layer of the call around all others.
    pub fn layer(&self) -> Layer {
        self.outermost().map_or(Layer::RUNTIME, |call| call.function.layer)
    }

    /// When it began.
    pub fn start_ns(&self) -> u64 {
        self.outermost().map_or(0, |call| call.start_ns)
    }

    fn outermost(&self) -> Option<&Call> {
        self.events.first().and_then(|event| if let Event::Enter(call) = event { Some(call) } else { None })
    }

    /// Whether it is the call around all others.
    pub fn is_outermost(&self, call: &Call) -> bool {
        self.outermost().is_some_and(|outermost| outermost.is_same_call(call))
    }

    /// Whether the call is one of it.
    pub fn has(&self, call: &Call) -> bool {
        // Most often the last one that began has ended.
        self.events.iter().rev().any(|event| matches!(event, Event::Enter(of) if of.is_same_call(call)))
    }

    /// Its events in their order.
    pub fn into_events(self) -> Vec<Event> {
        self.events
    }

    /// The calls that have ended, the outermost last.
    pub fn exits(&self) -> impl Iterator<Item = &Exit> {
        self.events.iter().filter_map(|event| if let Event::Exit(exit) = event { Some(&**exit) } else { None })
    }

    /// What its line says.
    pub fn inside(&self) -> Inside<'_> {
        let mut exits: Vec<&Exit> = self.exits().collect();
        let Some(outer) = exits.pop() else { return Inside::default() };
        let main_exit = stands_for(outer, &exits);
        exits.retain(|exit| !exit.call.is_same_call(&main_exit.call));
        let is_launch = Launch::of(&main_exit.call).is_some();
        let (mut errors, mut long) = (Vec::new(), Vec::new());
        let mut named: Vec<(&Exit, usize)> = Vec::new();
        let (mut start_up, mut other_calls) = (0usize, 0usize);
        // The time of a single call inside is that of the call itself.
        let has_many = exits.len() > 1;
        for exit in exits {
            let took = exit.duration_ns.unwrap_or(0);
            let name = exit.call.function.display_name();
            if exit.is_error() {
                let error = format!("{name} = {}", exit.status_name().unwrap_or("failed"));
                if !errors.contains(&error) {
                    errors.push(error);
                }
            } else if has_many && took > SLOW_NS && took > outer.duration_ns.unwrap_or(0) / 2 {
                long.push(format!("{name} {}", time(took)));
            } else if is_look_up(exit) {
                start_up += 1;
            } else if is_launch && Launch::of(&exit.call).is_some() {
                // The same launch, one layer below.
            } else if exit.call.depth > main_exit.call.depth + 1 {
                other_calls += 1;
            } else {
                match named.iter_mut().find(|(of, _)| of.call.function.key == exit.call.function.key) {
                    Some((_, count)) => *count += 1,
                    None => named.push((exit, 1)),
                }
            }
        }
        named.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let name = |(exit, count): &(&Exit, usize)| match count {
            1 => exit.call.function.display_name().to_owned(),
            _ => format!("{} ×{count}", exit.call.function.display_name()),
        };
        let has_error = !errors.is_empty();
        let mut parts = errors;
        parts.append(&mut long);
        let important = parts.join(", ").len();
        let room = NAMED.saturating_sub(parts.len());
        parts.extend(named.iter().take(room).map(name));
        other_calls += named.iter().skip(room).map(|(_, count)| *count).sum::<usize>();
        parts.extend((start_up > 0).then(|| format!("{start_up} start-up calls")));
        parts.extend((other_calls > 0).then(|| format!("{other_calls} more")));
        Inside { main_exit: Some(main_exit), text: parts.join(", "), important, has_error }
    }
}

/// The launch of the runtime's API inside the compiler's call; else the call itself.
fn stands_for<'a>(outer: &'a Exit, inside: &[&'a Exit]) -> &'a Exit {
    let is_stub = outer.call.function.name.starts_with("__") && Launch::of(&outer.call).is_some();
    let mut launches =
        inside.iter().filter(|exit| exit.call.function.layer == Layer::RUNTIME && Launch::of(&exit.call).is_some());
    match (is_stub && !outer.is_error(), launches.next(), launches.next()) {
        (true, Some(launch), None) if !launch.is_error() => launch,
        _ => outer,
    }
}

fn is_look_up(exit: &Exit) -> bool {
    let has = |role| exit.call.function.roles.has(role);
    has(Role::ProcAddress) || has(Role::ExportTable)
}
