//! A process of a run with its names: the functions of its slots, made when a record first refers to them.

use super::functions::{ResolvedFunction, Resolver};
use super::names::Names;
use crate::io::clock::Clock;
use crate::io::store::Store;
use crate::run::process_dir::ProcessDir;
use cutap_wire::names::kind;
use std::sync::Arc;

/// A process, and what its slots, objects, instances and kernels are called.
#[derive(Debug)]
pub struct ProcessSymbols {
    pub dir: ProcessDir,
    pub names: Names,
    /// Whether no name can be missing, once somebody has asked.
    all_named: Option<bool>,
}

impl ProcessSymbols {
    /// Opens the directory of a process; `None` while its page is not finished.
    pub fn open(store: &Arc<dyn Store>, name: &str, clock: &mut Clock) -> Option<ProcessSymbols> {
        let dir = ProcessDir::open(store, name, clock)?;
        Some(ProcessSymbols { dir, names: Names::default(), all_named: None })
    }

    /// Version of the kernel driver, where it was told.
    pub fn driver(&mut self) -> Option<String> {
        if self.names.driver.is_none() {
            self.read_new_names();
        }
        self.names.driver.clone()
    }

    /// What a thread is called, where it was told.
    pub fn thread_name(&mut self, tid: u32) -> Option<Arc<str>> {
        if self.names.thread(tid).is_none() {
            self.read_new_names();
        }
        self.names.thread(tid)
    }

    /// Reads new names; all of them if `thorough`.
    pub fn read_names(&mut self, thorough: bool) {
        let (names, process) = (&mut self.names, self.dir.process.clone());
        self.dir.read_names(thorough, &mut |name| names.take(&process, &name));
    }

    /// Reads of all names those that the end of a trace lists: gaps, and instances with their objects.
    pub fn read_gaps(&mut self) {
        let (names, process) = (&mut self.names, self.dir.process.clone());
        self.dir.read_names(true, &mut |name| {
            if matches!(name.kind, kind::GAP | kind::INSTANCE | kind::OBJECT) {
                names.take(&process, &name);
            }
        });
    }

    /// Reads all names if some may have been added since.
    pub fn read_new_names(&mut self) {
        if self.dir.stale {
            self.read_names(true);
        }
    }

    /// The function of a slot. A name is written before any record refers to it, so one that is missing after reading
    /// all names is lost; where none can be lost, there is no such function, and `None` says that the record makes no
    /// sense.
    #[inline(always)]
    pub fn resolve(&mut self, resolver: &mut Resolver, slot: u32, live: bool) -> Option<&ResolvedFunction> {
        if self.names.resolved(slot).is_none() {
            self.resolve_slot(resolver, slot, live);
        }
        self.names.resolved(slot)
    }

    #[cold]
    fn resolve_slot(&mut self, resolver: &mut Resolver, slot: u32, live: bool) {
        if self.names.resolve_slot(slot, resolver) {
            return;
        }
        let may_be = self.may_be_called(slot, live);
        if !self.names.resolve_slot(slot, resolver) && may_be {
            self.names.nameless(slot, resolver);
        }
    }

    /// Whether this slot has a name, or may have had one. A reader who takes chunks away has no time for that, and
    /// shows what is there.
    pub fn may_be_called(&mut self, slot: u32, live: bool) -> bool {
        if self.names.is_named(slot) {
            return true;
        }
        self.read_names(true);
        if live || self.names.is_named(slot) {
            return true;
        }
        let dir = &self.dir;
        !*self.all_named.get_or_insert_with(|| dir.has_all_names())
    }
}
