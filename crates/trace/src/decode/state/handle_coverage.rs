//! The kinds of handles for which a trace has every call that makes or ends one. The registry knows both calls, and the
//! filter lets them through. Only for these kinds is it reported that a handle was never made, or is gone.

use super::recorded_calls::RecordedCalls;
use crate::event::Layer;
use cutap_calls::known::{Dir, Effect, Family, Function, Handle, Tables, Type, TypeId};
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// Kinds of handles, by their short words. Found when the first one is asked for: a trace's start does not wait
/// for all functions to be looked at.
#[derive(Debug)]
pub struct HandleCoverage {
    tables: &'static Tables,
    recorded: RecordedCalls,
    /// With true those of which nobody makes one unseen.
    kinds: OnceLock<BTreeMap<&'static str, bool>>,
}

/// What is known of a kind: whether some function makes it, some ends it, and all of them are recorded.
#[derive(Debug, Clone, Copy)]
struct HandleKind {
    is_created: bool,
    is_destroyed: bool,
    recorded: bool,
    /// The driver makes it.
    drivers: bool,
    /// Nobody makes one unseen.
    made_seen: bool,
    /// With what it ends.
    of: &'static [&'static str],
}

impl HandleCoverage {
    /// For these functions and what is recorded of them.
    pub fn new(tables: &'static Tables, recorded: &RecordedCalls) -> HandleCoverage {
        HandleCoverage { tables, recorded: recorded.clone(), kinds: OnceLock::new() }
    }

    /// Looks at all functions.
    fn find(tables: &'static Tables, recorded: &RecordedCalls) -> BTreeMap<&'static str, bool> {
        let mut kinds = BTreeMap::<&str, HandleKind>::new();
        // The driver first: what a runtime hands out of the driver's own, the driver handed to it.
        let of_driver = |f: &&Family| f.name == "driver";
        let (driver, toolkit): (Vec<_>, Vec<_>) = tables.families.iter().partition(of_driver);
        for family in driver.into_iter().chain(toolkit) {
            let layer = Layer::of_family(family.name);
            let library = family.sonames.first().map_or("", |s| s);
            for function in family.functions {
                let is_recorded = || recorded.has(layer, library, function.name);
                for_each_kind(tables, function, &mut |handle, creates| {
                    let none = HandleKind {
                        is_created: false,
                        is_destroyed: false,
                        recorded: true,
                        drivers: false,
                        made_seen: true,
                        of: &[],
                    };
                    let kind = kinds.entry(handle.short).or_insert(none);
                    kind.is_created |= creates;
                    kind.is_destroyed |= !creates;
                    kind.drivers |= creates && layer == Layer::DRIVER;
                    let must_be_recorded = layer == Layer::DRIVER || !kind.drivers;
                    kind.made_seen &= !handle.made_elsewhere;
                    kind.of = if handle.of.is_empty() { kind.of } else { handle.of };
                    kind.recorded &= !handle.elsewhere && (!must_be_recorded || is_recorded());
                });
            }
        }
        let followed = kinds.iter().filter(|(_, k)| k.is_created && k.is_destroyed && k.recorded);
        let mut all: BTreeMap<&str, bool> = followed.map(|(short, k)| (*short, k.made_seen)).collect();
        // Of what ends only with something else nobody says that it was not seen.
        let owned = kinds.iter().filter(|(_, k)| k.is_created && !k.is_destroyed && k.recorded);
        let owned: Vec<&str> =
            owned.filter(|(_, k)| k.of.iter().any(|of| all.contains_key(of))).map(|(s, _)| *s).collect();
        all.extend(owned.into_iter().map(|short| (short, false)));
        all
    }

    /// Whether handles of this kind are followed from their making to their end.
    pub fn has(&self, kind: &Handle) -> bool {
        self.kinds().get(kind.short) == Some(&true)
    }

    /// Whether one of this kind that was seen to end has ended, until a call hands it out again.
    pub fn follows_end(&self, kind: &Handle) -> bool {
        self.kinds().contains_key(kind.short)
    }

    fn kinds(&self) -> &BTreeMap<&'static str, bool> {
        self.kinds.get_or_init(|| HandleCoverage::find(self.tables, &self.recorded))
    }
}

/// The kinds of handles that a function makes (true) or ends.
fn for_each_kind(tables: &'static Tables, function: &Function, to: &mut dyn FnMut(&'static Handle, bool)) {
    let mut report = |ty: TypeId, creates: bool| {
        if let Some(handle) = handle(tables, ty) {
            to(handle, creates);
        }
    };
    report(function.returns, true);
    for param in function.params.iter().filter(|p| p.dir != Dir::In) {
        if let Some(Type::Pointer(of, _)) = tables.types.get(usize::from(param.ty)) {
            report(*of, true);
        }
    }
    for effect in function.effects {
        let (Effect::Destroys(n) | Effect::Creates(n)) = effect else { continue };
        let creates = matches!(effect, Effect::Creates(_));
        let ty = function.params.get(usize::from(*n)).map_or(0, |p| p.ty);
        match tables.types.get(usize::from(ty)) {
            Some(Type::Pointer(of, _)) => report(*of, creates),
            _ => report(ty, creates),
        }
    }
}

fn handle(tables: &'static Tables, ty: TypeId) -> Option<&'static Handle> {
    match tables.types.get(usize::from(ty))? {
        Type::Handle(n) => tables.handles.get(usize::from(*n)).filter(|h| !h.number && !h.short.is_empty()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::Filter;
    use crate::merge::reader_options::recorded_calls;
    use crate::synthetic::tables::{NOTHING, TABLES};

    impl HandleCoverage {
        /// These kinds.
        pub fn of(kinds: &[&'static str]) -> HandleCoverage {
            let kinds = OnceLock::from(kinds.iter().map(|kind| (*kind, true)).collect::<BTreeMap<_, _>>());
            HandleCoverage { tables: &NOTHING, recorded: RecordedCalls::all(), kinds }
        }
    }

    #[test]
    fn kinds_whose_makers_and_enders_are_recorded() {
        let of = |text: &str| HandleCoverage::find(&TABLES, &recorded_calls(Filter::parse_with(text, &[]).unwrap()));
        let all = HandleCoverage::find(&TABLES, &RecordedCalls::all());
        assert!(all.contains_key("stream"), "{all:?}");
        assert!(!all.contains_key("function") && !all.contains_key("device"), "{all:?}");
        assert!(of("!cuMem*").contains_key("stream"));
        assert!(!of("!cuStreamCreate").contains_key("stream"));
        assert!(!of("cuStreamCreate,cuStreamDestroy").contains_key("stream"), "cuGraphGetNodes gives some too");
    }
}
