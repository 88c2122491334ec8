//! The conditions on arguments that concern a function, and their verdict on one of its calls.

use super::comparison::{CALLER, Comparison, KERNEL, Term};
use super::owners::Owners;
use super::parse::Filter;
use crate::event::Layer;
use crate::event::value::Value;
use cutap_calls::filter::is_shown;

/// The conditions on the calls of one function.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Tests {
    /// Its calls are wanted whatever their arguments are.
    plain: bool,
    wanted_terms: Vec<Vec<Comparison>>,
    unwanted_terms: Vec<Vec<Comparison>>,
    /// Whose calls are wanted; all of them must hold.
    owners: Vec<Owners>,
    /// What the other parts of `A & B` ask of the same function.
    also: Vec<Tests>,
}

/// What is known of a call when it is judged.
pub(crate) struct CallUnderTest<'a> {
    /// Names of the parameters, and their values; none: it has no such parameter.
    pub values: &'a mut dyn FnMut(&str) -> Option<ArgumentValue>,
    /// The kernel that it launches.
    pub kernel: Option<&'a str>,
    /// It may launch one whose name is told later.
    pub kernel_later: bool,
    /// The process and the thread that make the call, as they see themselves.
    pub owner: (u32, u32),
    /// The library that calls, of a hidden function.
    pub caller: Option<&'a str>,
}

/// A value when a call is judged.
pub(crate) enum ArgumentValue {
    /// Nothing more will be known of it.
    Whole(Value),
    /// What is missing in it may be known later.
    SoFar(Value),
}

impl Filter {
    /// The conditions on calls of this function; `None` when there are none.
    pub(crate) fn tests(&self, layer: Layer, library: &str, name: &str) -> Option<Tests> {
        if !self.asks_arguments() {
            return None;
        }
        let of = layer.number();
        let matches = |rules: &str| is_shown(rules.as_bytes(), of, library.as_bytes(), name.as_bytes());
        let pick = |is_wanted: bool| {
            let terms = self.arguments.iter().filter(|t| t.is_wanted == is_wanted && matches(&t.rules));
            terms.map(|t: &Term| t.comparisons.clone()).collect::<Vec<_>>()
        };
        let tests = Tests {
            plain: self.plain.lines().any(|l| l.starts_with('+') && matches(l))
                || !self.plain.contains('+') && !self.arguments.iter().any(|t| t.is_wanted),
            wanted_terms: pick(true),
            unwanted_terms: pick(false),
            owners: [&self.owners]
                .into_iter()
                .chain(&self.owners_of_parts)
                .filter(|o| !o.is_everybody())
                .cloned()
                .collect(),
            also: self.other_parts.iter().filter_map(|part| part.tests(layer, library, name)).collect(),
        };
        let has_conditions =
            !tests.plain || !tests.unwanted_terms.is_empty() || !tests.owners.is_empty() || !tests.also.is_empty();
        has_conditions.then_some(tests)
    }
}

impl Tests {
    /// Whether the call is wanted; `None` when that is not known yet.
    pub fn evaluate(&self, evaluated: &mut CallUnderTest<'_>) -> Option<bool> {
        let (pid, tid) = evaluated.owner;
        if !self.owners.iter().all(|owners| owners.has(pid, tid)) {
            return Some(false);
        }
        let mut all = self.evaluate_arguments(evaluated);
        for part in &self.also {
            all = match (all, part.evaluate(evaluated)) {
                (Some(false), _) | (_, Some(false)) => return Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            };
        }
        all
    }

    fn evaluate_arguments(&self, evaluated: &mut CallUnderTest<'_>) -> Option<bool> {
        let mut any =
            |terms: &[Vec<Comparison>]| terms.iter().map(|t| all_fulfilled(t, evaluated)).fold(Some(false), or);
        let unwanted = any(&self.unwanted_terms);
        let is_wanted = if self.plain { Some(true) } else { any(&self.wanted_terms) };
        match (is_wanted, unwanted) {
            (Some(false), _) | (_, Some(true)) => Some(false),
            (Some(true), Some(false)) => Some(true),
            _ => None,
        }
    }

    /// A parameter that the conditions ask for and that the function does not have, so that no call of it is wanted.
    /// None if there is a way to fulfil them.
    pub fn lacks(&self, has: &dyn Fn(&str) -> bool) -> Option<&str> {
        let lacking = |term: &'_ [Comparison]| -> Option<usize> {
            term.iter().position(|c| c.path.first().is_some_and(|name| name != KERNEL && !has(name)))
        };
        let lacking_names = self.wanted_terms.iter().map(|term| lacking(term).and_then(|n| term.get(n)?.path.first()));
        let own = if self.plain { None } else { lacking_names.collect::<Option<Vec<_>>>() };
        let own = own.and_then(|names| names.first().map(|name| name.as_str()));
        own.or_else(|| self.also.iter().find_map(|part| part.lacks(has)))
    }

    /// Whether a call is wanted of which nobody will know the arguments.
    pub fn wants_unknown(&self) -> bool {
        let (kernel, kernel_later, owner, caller) = (None, false, (0, 0), None);
        self.evaluate(&mut CallUnderTest { values: &mut |_| None, kernel, kernel_later, owner, caller }) == Some(true)
    }
}

/// Whether all hold; `None` when that is not known yet. Of what a call does not have, or of which nothing will be known
/// any more, nothing holds.
fn all_fulfilled(comparisons: &[Comparison], evaluated: &mut CallUnderTest<'_>) -> Option<bool> {
    let mut unknown = false;
    for comparison in comparisons {
        let name = comparison.path.first().map_or("", String::as_str);
        let is_fulfilled = match (evaluated.values)(name) {
            Some(ArgumentValue::Whole(value)) => comparison.is_fulfilled(&value).or(Some(false)),
            Some(ArgumentValue::SoFar(value)) => comparison.is_fulfilled(&value),
            None if name == CALLER => comparison.text(evaluated.caller.as_slice()),
            None => match evaluated.kernel.filter(|_| name == KERNEL) {
                Some(kernel) => comparison.text(&[kernel]),
                None if name == KERNEL && evaluated.kernel_later => None,
                None => Some(false),
            },
        };
        match is_fulfilled {
            Some(false) => return Some(false),
            None => unknown = true,
            Some(true) => {}
        }
    }
    (!unknown).then_some(true)
}

fn or(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (Some(false), Some(false)) => Some(false),
        _ => None,
    }
}
