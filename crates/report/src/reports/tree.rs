//! `report --tree`: the call tree. Calls with the same path are one line.

use super::{Input, Report, ReportKind, Takes};
use crate::statistics::call_tree::CallTree;
use crate::statistics::path_tree::PathTree;
use crate::statistics::rows::{Rows, call_stats_headings};
use crate::statistics::tables::NO_CALL;
use cutap_trace::End;
use std::borrow::Cow;
use std::io;

pub(super) const KIND: ReportKind = ReportKind {
    flag: "tree",
    help: "The call tree, calls with the same path merged",
    value: Takes::Nothing,
    new: |_| Box::new(Tree(CallTree::with_ranges(), Rows::default())),
};

struct Tree(CallTree, Rows);

impl Report for Tree {
    fn input(&mut self) -> Input<'_> {
        Input::Calls(&mut self.0)
    }
    fn rows(&mut self, rows: Rows) -> bool {
        self.1 = rows;
        true
    }
    fn sort_columns(&self) -> Vec<&'static str> {
        call_stats_headings()
    }
    fn nothing(&self) -> Option<Cow<'static, str>> {
        self.0.chains().chains.is_empty().then(|| NO_CALL.into())
    }
    fn has_times(&self) -> bool {
        true
    }
    fn write_text(&self, _: &End, _colour: bool, out: &mut dyn io::Write) -> io::Result<()> {
        PathTree::down(&self.0.chains()).with_rows(self.1).write_text(out)
    }
    fn write_json(&self, out: &mut dyn io::Write) -> io::Result<()> {
        PathTree::down(&self.0.chains()).with_rows(self.1).write_json(out)
    }
}
