//! What a filter did in a run, and why it found nothing.

use crate::event::Layer;
use crate::filter::Filter;
use crate::run::run_reader::RunReader;
use crate::symbols::functions::ResolvedFunction;
use crate::symbols::process::ProcessSymbols;
use std::collections::BTreeSet;

/// A filter and what it did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterOutcome {
    pub text: String,
    /// Calls and look-ups that it let through.
    pub shown_calls: u64,
    /// Calls that were recorded and not shown.
    pub filtered_out: u64,
    /// Unknown names in it, with names that they may have meant.
    pub near: Vec<(String, Vec<String>)>,
    /// Functions whose calls it left out because they have no parameter of a condition's name.
    pub missing_parameters: Vec<MissingParameter>,
    /// Layers that it names and that the run did not record.
    pub unrecorded: Vec<Layer>,
    /// Several parts that pick functions must all hold, as of -e A -e B.
    pub is_intersection: bool,
    /// It is the one that the run was made with, and no other was given.
    pub is_kept: bool,
}

/// A function that was called and that no condition on this parameter can hold for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MissingParameter {
    /// The parameter that the condition names.
    pub parameter: String,
    pub function: String,
    /// What there is.
    pub params: Vec<&'static str>,
}

impl MissingParameter {
    fn of(resolved: &ResolvedFunction) -> Option<MissingParameter> {
        let (tests, described) = (resolved.tests.as_ref()?, resolved.function.described?);
        let params: Vec<&'static str> = described.function.params.iter().map(|param| param.name).collect();
        let parameter = tests.lacks(&|name| params.contains(&name)).filter(|_| resolved.is_shown)?;
        Some(MissingParameter { parameter: parameter.to_owned(), function: resolved.function.name.to_string(), params })
    }
}

/// Functions of the processes of a run, as far as a filter that found nothing has to know them.
#[derive(Debug, Default)]
pub struct RunFunctions {
    names: BTreeSet<Box<str>>,
    layers: BTreeSet<char>,
    lacking: BTreeSet<MissingParameter>,
}

impl RunFunctions {
    /// Adds those of a process. Without a filter nobody asks for them.
    pub(crate) fn add(&mut self, folder: &ProcessSymbols, filter: &Filter) {
        if filter.text().is_empty() {
            return;
        }
        for name in folder.names.functions() {
            if !self.names.contains(name) {
                self.names.insert(name.into());
            }
        }
        self.lacking.extend(folder.names.all_resolved().filter_map(MissingParameter::of));
        self.layers.extend(folder.names.all_resolved().map(|resolved| resolved.function.layer.letter()));
    }
}

impl FilterOutcome {
    /// What this filter did: how many it let through, and how many not. None when there was no filter.
    pub(crate) fn new(
        filter: &Filter,
        (shown, filtered_out): (u64, u64),
        run_functions: &RunFunctions,
        run: &RunReader,
    ) -> Option<FilterOutcome> {
        if filter.text().is_empty() {
            return None;
        }
        let (mut near, mut lacking) = (Vec::new(), BTreeSet::new());
        if shown == 0 {
            lacking = run_functions.lacking.clone();
            let names: Vec<&str> = run_functions.names.iter().map(|name| &**name).collect();
            let owned = |near: Vec<&str>| near.into_iter().map(str::to_owned).collect();
            near = filter.near(&names).into_iter().map(|(word, near)| (word.into(), owned(near))).collect();
        }
        let rules = run.rules().unwrap_or_default();
        let added = |rule: &str, letter| rule.strip_prefix('+')?.split(' ').next().map(|all| all.contains(letter));
        let of_rules = |letter: char| rules.lines().any(|rule| added(rule, letter) == Some(true));
        let has_layer = |layer: Layer| run_functions.layers.contains(&layer.letter());
        // A changed filter does not tell what was recorded before.
        let on_request = Layer::all().filter(|layer| layer.is_asked() && !run.filter_changed());
        let unrecorded = on_request.filter(|l| filter.adds(*l) && !of_rules(l.letter()) && !has_layer(*l)).collect();
        Some(FilterOutcome {
            text: filter.text().to_owned(),
            shown_calls: shown,
            filtered_out,
            near,
            missing_parameters: lacking.into_iter().collect(),
            unrecorded,
            is_intersection: filter.is_intersection(),
            is_kept: filter.is_filter_of_run,
        })
    }
}
