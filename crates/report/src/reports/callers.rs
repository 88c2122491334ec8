//! `report --callers FUNCTION`: the call tree reversed, from one function to its callers.

use super::{Input, Kind, Report, Takes};
use crate::call_tree::CallTree;
use crate::path_tree::PathTree;
use cutap_trace::End;
use std::io;

pub(super) const KIND: Kind = Kind {
    flag: "callers",
    help: "Who calls FUNCTION (* allowed), and how much of its time each caller causes",
    value: Takes::Text("FUNCTION"),
    new: |function| Box::new(Callers { function: function.to_owned(), calls: CallTree::default() }),
};

struct Callers {
    function: String,
    calls: CallTree,
}

impl Callers {
    fn tree(&self) -> Option<PathTree> {
        PathTree::up(&self.calls.chains(), &|name| matches(&self.function, name))
    }
}

/// Whether `name` is the function: with * in it, or any versioned form of a plain name.
fn matches(function: &str, name: &str) -> bool {
    let versioned = |rest: &str| rest.is_empty() || rest.starts_with('_');
    cutap_calls::glob(function.as_bytes(), name.as_bytes()) || name.strip_prefix(function).is_some_and(versioned)
}

impl Report for Callers {
    fn input(&mut self) -> Input<'_> {
        Input::Calls(&mut self.calls)
    }
    fn refusal(&self, run: &str) -> Option<String> {
        let Callers { function, .. } = self;
        let none = || format!("{run} has no call of {function}; cutap report {run} lists the functions that it has");
        self.tree().is_none().then(none)
    }
    fn write_text(&self, _: &End, _colour: bool, out: &mut dyn io::Write) -> io::Result<()> {
        self.tree().map_or(Ok(()), |tree| tree.write_text(out))
    }
    fn write_json(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.tree().map_or(Ok(()), |tree| tree.write_json(out))
    }
}
