//! `report --callers FUNCTION`: the call tree reversed, from one function to its callers.

use super::{Input, Kind, Report, Takes};
use crate::call_tree::CallTree;
use crate::path_tree::PathTree;
use crate::rows::Rows;
use crate::under::is_meant;
use cutap_calls::plain;
use cutap_trace::{End, did_you_mean};
use std::io;

pub(super) const KIND: Kind = Kind {
    flag: "callers",
    help: "Who calls FUNCTION (* allowed), and how much of its time each caller causes",
    value: Takes::Text("FUNCTION"),
    new: |function| Box::new(Callers {
            function: function.to_owned(),
            calls: CallTree::default(),
            rows: Rows::default(),
        }),
};

struct Callers {
    function: String,
    calls: CallTree,
    rows: Rows,
}

impl Callers {
    fn tree(&self) -> Option<PathTree> {
        PathTree::up(&self.calls.chains(), &|name| is_meant(&self.function, name)).map(|tree| tree.with_rows(self.rows))
    }
}

/// The functions of the run whose names are nearest to one that it does not have.
fn nearest(function: &str, calls: &CallTree) -> Vec<String> {
    // A name without its version means every version of it.
    did_you_mean(function, calls.chains().labels.iter().map(|label| plain(&label.name).to_owned()))
}

impl Report for Callers {
    fn input(&mut self) -> Input<'_> {
        Input::Calls(&mut self.calls)
    }
    fn rows(&mut self, rows: Rows) -> bool {
        self.rows = rows;
        true
    }
    fn has_times(&self) -> bool {
        true
    }
    fn refusal(&self, run: &str) -> Option<String> {
        let Callers { function, calls, .. } = self;
        let none = || match &nearest(function, calls)[..] {
            [] => format!("{run} has no call of {function}; cutap report {run} lists the functions that it has"),
            near => format!("{run} has no call of {function}; did you mean {}?", near.join(", ")),
        };
        self.tree().is_none().then(none)
    }
    fn write_text(&self, _: &End, _colour: bool, out: &mut dyn io::Write) -> io::Result<()> {
        self.tree().map_or(Ok(()), |tree| tree.write_text(out))
    }
    fn write_json(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.tree().map_or(Ok(()), |tree| tree.write_json(out))
    }
}
