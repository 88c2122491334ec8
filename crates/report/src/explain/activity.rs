//! What the time of a run was spent on: each moment of a thread counts for the innermost call around it whose activity
//! is known. So a module that is loaded inside a launch is loading, and not launching.

use crate::call::call_bytes::COPY_ROLES;
use crate::format::units::time;
use cutap_calls::known::Effect;
use cutap_calls::{Role, hands_out, has_role, resets};
use cutap_trace::{Call, Exit, Function};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;

/// Lines at most.
const LINES: usize = 5;
/// Part of the time below which an activity has no line.
const LEAST: f64 = 0.01;

/// What a call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Activity {
    Waits,
    Modules,
    StartUp,
    Copies,
    Launches,
    Allocation,
    Other,
}

impl Activity {
    /// For people, and in JSON.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Activity::Waits => ("waiting for the device", "waits"),
            Activity::Modules => ("loading modules", "modules"),
            Activity::StartUp => ("starting and ending CUDA", "start_up"),
            Activity::Copies => ("copying and filling", "copies"),
            Activity::Launches => ("launching", "launches"),
            Activity::Allocation => ("allocating and freeing", "allocation"),
            Activity::Other => ("other calls", "other"),
        }
    }

    /// It happens once, whatever the call does around it.
    fn is_once(self) -> bool {
        matches!(self, Activity::Modules | Activity::StartUp)
    }
}

const START_UP: [Role; 9] = [
    Role::StartUp,
    Role::ProcAddress,
    Role::ExportTable,
    Role::NvmlExportTable,
    Role::CreatesContext,
    Role::RetainsPrimaryContext,
    Role::ReleasesPrimaryContext,
    Role::DestroysContext,
    Role::DriverVersion,
];
const MODULES: [Role; 6] =
    [Role::LoadsImage, Role::LoadsFile, Role::LinksImage, Role::KernelHandle, Role::LibraryKernel, Role::EndsModules];
const LAUNCHES: [Role; 2] = [Role::Launch, Role::HostFunction];

/// The function starts CUDA, ends it, or looks other functions up.
pub fn is_start_up(name: &str) -> bool {
    START_UP.iter().any(|role| has_role(name.as_bytes(), *role)) || resets(name)
}

/// It waits for the device, and does nothing else.
pub fn waits(function: &Function) -> bool {
    function.blocks == Some("waits for the device")
}

/// The activity of a function, by what it does itself.
pub fn activity(function: &Function) -> Option<Activity> {
    let name = &*function.name;
    let has = |roles: &[Role]| function.roles.has_any(roles);
    let effects = function.described.map_or(&[][..], |described| described.function.effects);
    let is_memory = |effect: &Effect| matches!(effect, Effect::Allocates { .. } | Effect::Frees(_));
    let all = [
        (waits(function), Activity::Waits),
        (is_start_up(name), Activity::StartUp),
        (has(&MODULES), Activity::Modules),
        (has(&COPY_ROLES), Activity::Copies),
        (has(&LAUNCHES), Activity::Launches),
        (!hands_out(name) && effects.iter().any(is_memory), Activity::Allocation),
    ];
    all.into_iter().find_map(|(is_it, activity)| is_it.then_some(activity))
}

/// What the calls of a run were spent on.
#[derive(Debug, Default)]
pub struct TimeSpent {
    /// By the function's key.
    activities: Vec<Option<Option<Activity>>>,
    /// By the thread's key.
    threads: Vec<ThreadTime>,
    spent: HashMap<Activity, Spent>,
}

#[derive(Debug, Default)]
struct ThreadTime {
    open: Vec<OpenTime>,
    /// Beginning of its first call, end of its last one, and the nanoseconds of its outermost calls.
    span: Option<(u64, u64)>,
    inside_ns: u64,
}

#[derive(Debug)]
struct OpenTime {
    number: u32,
    activity: Activity,
    /// The outermost call with this activity: number and function.
    named: (u32, Arc<Function>),
    inside_ns: u64,
    /// Of these, those of what happens once.
    once_ns: u64,
}

#[derive(Debug, Default)]
struct Spent {
    ns: u64,
    /// The outermost functions with this activity, by their keys, with nanoseconds and calls.
    functions: HashMap<u32, (Arc<Function>, u64, u64)>,
}

/// A call as its time counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    pub activity: Activity,
    /// Nanoseconds of what happens once, in calls inside it.
    pub once_ns: u64,
}

impl TimeSpent {
    fn of(&mut self, function: &Function) -> Option<Activity> {
        let key = function.key as usize;
        if key >= self.activities.len() {
            self.activities.resize(key + 1, None);
        }
        *self.activities.get_mut(key)?.get_or_insert_with(|| activity(function))
    }

    fn thread(&mut self, key: u32) -> &mut ThreadTime {
        let key = key as usize;
        if key >= self.threads.len() {
            self.threads.resize_with(key + 1, ThreadTime::default);
        }
        &mut self.threads[key]
    }

    /// A call begins.
    pub fn enter(&mut self, call: &Call) {
        if call.function.entry_only {
            return;
        }
        let own = self.of(&call.function);
        let thread = self.thread(call.thread.key);
        thread.span.get_or_insert((call.start_ns, call.start_ns));
        let number = call.number();
        let outer = thread.open.last().filter(|around| own.is_none_or(|own| own == around.activity));
        let (activity, named) = match outer {
            Some(outer) => (outer.activity, outer.named.clone()),
            None => (own.unwrap_or(Activity::Other), (number, call.function.clone())),
        };
        thread.open.push(OpenTime { number, activity, named, inside_ns: 0, once_ns: 0 });
    }

    /// A call ends.
    pub fn exit(&mut self, exit: &Exit) -> Counted {
        let (number, took) = (exit.call.number(), exit.took_ns().unwrap_or(0));
        let thread = self.thread(exit.call.thread.key);
        if let Some((_, end)) = &mut thread.span {
            *end = exit.end_ns.max(*end);
        }
        let Some(place) = thread.open.iter().rposition(|open| open.number == number) else {
            return Counted { activity: Activity::Other, once_ns: 0 };
        };
        let OpenTime { activity, named: (of, function), inside_ns, once_ns, .. } = thread.open.swap_remove(place);
        thread.open.truncate(place);
        match thread.open.last_mut() {
            Some(around) => {
                around.inside_ns += took;
                around.once_ns += if activity.is_once() { took } else { once_ns };
            }
            None => thread.inside_ns += took,
        }
        let spent = self.spent.entry(activity).or_default();
        let own = took.saturating_sub(inside_ns);
        spent.ns += own;
        let (_, ns, calls) = spent.functions.entry(function.key).or_insert_with(|| (function, 0, 0));
        (*ns, *calls) = (*ns + own, *calls + u64::from(of == number));
        Counted { activity, once_ns }
    }

    /// Nanoseconds of all threads from their first call to the end of their last.
    pub fn whole_ns(&self) -> u64 {
        self.spans().map(|(start, end)| end.saturating_sub(start)).sum()
    }

    fn spans(&self) -> impl Iterator<Item = (u64, u64)> {
        self.threads.iter().filter_map(|thread| thread.span)
    }

    /// Nanoseconds in calls.
    pub fn inside_ns(&self) -> u64 {
        self.threads.iter().map(|thread| thread.inside_ns).sum()
    }

    /// The activities with the most time first.
    fn sorted(&self) -> Vec<(Activity, u64, &str, u64)> {
        let mut all = Vec::new();
        for (activity, spent) in &self.spent {
            // One function of several processes or loads has several keys.
            let mut names: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
            for (function, ns, calls) in spent.functions.values() {
                let sums = names.entry(function.display_name()).or_default();
                *sums = (sums.0 + ns, sums.1 + calls);
            }
            let top = names.into_iter().max_by_key(|(name, (ns, _))| (*ns, Reverse(*name)));
            all.extend(top.map(|(name, (_, calls))| (*activity, spent.ns, name, calls)));
        }
        all.sort_by_key(|(activity, ns, ..)| (Reverse(*ns), *activity));
        all
    }

    /// Lines for people: a head, and at most five activities.
    pub fn write_text(&self, wall_ns: u64, out: &mut dyn io::Write) -> io::Result<()> {
        let whole = self.whole_ns();
        let share = |ns: u64| ns as f64 / whole.max(1) as f64;
        match self.spans().count() {
            1 => writeln!(out, "where the time went, {} from the first call to the last:", time(whole))?,
            n => writeln!(
                out,
                "where the time of {n} threads went, {} in all, {} of the clock:",
                time(whole),
                time(wall_ns)
            )?,
        }
        let outside = whole.saturating_sub(self.inside_ns());
        let line = |(activity, ns, name, calls): (Activity, u64, &str, u64)| {
            let calls = if calls == 1 { "1 call".to_owned() } else { format!("{calls} calls") };
            (ns, activity.words().0, format!("mostly {name}, {calls}"))
        };
        let mut lines: Vec<_> = self.sorted().into_iter().map(line).collect();
        lines.push((outside, "outside CUDA calls", String::new()));
        lines.retain(|(ns, ..)| share(*ns) >= LEAST);
        lines.sort_by_key(|(ns, ..)| Reverse(*ns));
        for (ns, what, mostly) in lines.into_iter().take(LINES) {
            let part = format!("{:.1}%", 100.0 * share(ns));
            writeln!(out, "{}", format!("{:>9} {part:>6}  {what:<24}  {mostly}", time(ns)).trim_end())?;
        }
        writeln!(out)
    }

    /// One line of JSON for each activity.
    pub fn write_json(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let whole = self.whole_ns();
        let share = |ns: u64| ns as f64 / whole.max(1) as f64;
        let outside = whole.saturating_sub(self.inside_ns());
        let lines = self.sorted().into_iter().map(|(activity, ns, name, _)| (activity.words().1, ns, Some(name)));
        for (activity, ns, name) in lines.chain([("outside", outside, None)]) {
            let line: Value = json!({
                "type": "time", "activity": activity, "ns": ns, "share": share(ns), "function": name,
            });
            writeln!(out, "{line}")?;
        }
        Ok(())
    }
}
