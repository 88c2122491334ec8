//! The end of a run, in words: what was not recorded, hooks that were not called, where the recording is.

use crate::base::error::{OWN_FAILURE, print_notice};
use crate::collector::ended_folders;
use crate::front::request::Request;
use crate::front::run::Run;
use crate::front::supervisor::CollectorSupervisor;
use crate::front::trace_options::TraceOptions;
use crate::hooks;
use crate::inject;
use crate::limit;
use crate::output::omission_notes::omission_notes;
use crate::output::record_summary::record_summary;
use crate::record::pack::{is_the_same, pack_recorded};
use crate::run_dir::outer_run::no_call_notes;
use crate::start::exit_kind::ExitKind;
use cutap_trace::Layer;
use std::path::Path;

/// A program that has ended, or whose collector stays for its children.
pub struct Outcome<'a> {
    pub options: &'a TraceOptions,
    pub request: &'a Request,
    pub run: &'a Run,
    pub supervisor: &'a CollectorSupervisor,
    /// The file of the output.
    pub named: Option<&'a Path>,
    /// The program's process.
    pub child: i32,
    pub exit_kind: ExitKind,
    /// The collector stays.
    pub is_detached: bool,
}

impl Outcome<'_> {
    /// Prints all notes, packs a finished recording, and tells how cutap ends.
    pub fn finish(&self, print_unmatched: &mut dyn FnMut(Vec<String>)) -> ExitKind {
        let run = &self.run.path;
        let not_started = hooks::not_started(run, &self.request.hooks, &self.request.program.path, self.exit_kind);
        not_started.iter().for_each(|line| print_notice(line));
        if !self.is_detached && not_started.is_none() {
            let injection = &self.options.injection;
            if !injection.is_empty() {
                inject::end_lines(run, &injection.rules).iter().for_each(|line| self.notice(line));
            }
            if let Some(Err(why)) = injection.sites.as_ref().map(|file| inject::write_sites(run, file)) {
                print_notice(&why.to_string());
            }
        }
        if !self.is_detached && !self.options.limits.is_empty() {
            limit::end_lines(run, self.child).iter().for_each(|line| print_notice(line));
        }
        let are_unmatched = self.is_detached || hooks::ended_at_start(run, self.child);
        print_unmatched(if are_unmatched { hooks::unmatched_hooks(run) } else { hooks::not_called(run) });
        self.print_omissions(not_started.is_none());
        hooks::crash_notes(run, Some((self.child, self.exit_kind))).iter().for_each(|line| print_notice(line));
        let is_written = self.finish_output();
        match self.exit_kind {
            ExitKind::Code(0) if !is_written => ExitKind::Code(OWN_FAILURE.into()),
            _ if not_started.is_some() => ExitKind::Code(OWN_FAILURE.into()),
            as_program => as_program,
        }
    }

    fn notice(&self, line: &str) {
        if !self.options.silent {
            print_notice(line);
        }
    }

    /// Calls that are not in the output, and why. `has_started`: the hooks did not keep the program from it.
    fn print_omissions(&self, has_started: bool) {
        let (options, run, has_driver) = (self.options, self.run, self.request.has_driver);
        // An output that could not be written has a message: what was not recorded is counted until it is recovered.
        if options.record && !self.supervisor.unwritten {
            let is_removed = || !self.is_detached && !run.dir.join(cutap_wire::control::FILE).is_file();
            let removed_run_file = self.named.filter(|_| is_removed());
            if let Some(file) = removed_run_file {
                let (run, file) = (run.path.display(), file.display());
                print_notice(&format!(
                    "the run directory {run} was removed while the program ran: what began after that, threads and \
                     processes, is not in {file}; calls of others that could not be recorded are counted there"
                ));
            }
            let is_over = !self.is_detached && has_started && removed_run_file.is_none();
            // Of processes that ended long ago the run directory has no names any more.
            let has_replaced = || !self.is_detached && ended_folders::some_are_replaced(&run.dir);
            let whole = removed_run_file.or(self.named.filter(|_| has_replaced()));
            let notes = omission_notes(whole.unwrap_or(&run.path), is_over && has_driver);
            notes.iter().for_each(|line| self.notice(line));
        }
        // The lines of a trace are elsewhere, or for a program to read, or its collector left this to whoever knows how
        // the program ended.
        let elsewhere = self.named.is_some() || options.form.json || !hooks::has_started(&run.path);
        let is_trace = !options.record && !options.form.only_hooks;
        if elsewhere && has_driver && is_trace && !self.is_detached && has_started {
            no_call_notes(&run.path).iter().for_each(|line| self.notice(line));
        }
    }

    /// Packs a recording that is finished and prints its summary; false where the output could not be written.
    fn finish_output(&self) -> bool {
        let supervisor = self.supervisor;
        let mut unwritten = supervisor.unwritten;
        if let Some(why) = supervisor.tampered().filter(|_| !unwritten) {
            print_notice(&why);
            unwritten = true;
        }
        let is_finished = self.options.record && !unwritten && !supervisor.keep && !self.is_detached;
        if let Some(file) = self.named.filter(|_| is_finished) {
            // Packing puts another file in its place.
            let is_there = file.is_file() && is_the_same(file, supervisor.output());
            unwritten = !pack_recorded(file, supervisor.output());
            if !unwritten && is_there {
                if Layer::of_name("syscall").is_some_and(|layer| self.request.filter.adds(layer)) {
                    self.notice(
                        "the recording has raw bytes of requests to the kernel driver; they may contain the \
                         program's data",
                    );
                }
                record_summary(file, true).iter().for_each(|line| self.notice(line));
            }
        }
        !unwritten
    }
}
