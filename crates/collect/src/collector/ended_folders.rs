//! Keeps a run directory small when a program starts many processes. Of one that has ended, and whose calls are all in
//! the recording or printed, the page alone is kept, as a file in place of its folder. The name stays taken, so that a
//! later process of the same number has another one.
//!
//! A folder goes only when no process uses it. The kernel knows that by a lease of the page (`lease`), on file systems
//! that have leases; elsewhere what all processes have mapped is looked at.

use crate::collector::retention::{MappedProcess, maps};
use crate::run_dir::lease::is_held;
use cutap_trace::{RingFile, RunPath};
use cutap_wire::{PAGE, names, process};
use std::io::Write;
use std::time::{Duration, Instant};

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(100);
/// A folder that goes, or a page that comes, has this name for a moment.
const ENDED: &str = "ended-";

/// The folders of processes that have ended.
#[derive(Debug)]
pub struct EndedFolders {
    run: RunPath,
    /// Folders may be replaced: the run directory is removed at the end.
    replaces: bool,
    has_leases: bool,
    last_scan: Option<Instant>,
    /// What processes have mapped, in this look.
    living: Option<Vec<MappedProcess>>,
}

impl EndedFolders {
    /// Of this run; with `replaces`, folders are replaced by their pages.
    pub fn new(run: &RunPath, replaces: bool) -> EndedFolders {
        // What a collector before this one did not bring to its end.
        for name in run.list().unwrap_or_default().iter().filter(|name| name.starts_with(ENDED)) {
            let leftover = run.join(name);
            let _ = leftover.remove_file().or_else(|_| leftover.remove_folder());
        }
        EndedFolders { run: run.clone(), replaces, has_leases: has_leases(run), last_scan: None, living: None }
    }

    /// Whether it is time to look again; then what was mapped before does not count.
    pub fn is_due(&mut self) -> bool {
        let due = self.last_scan.is_none_or(|at| at.elapsed() > PAUSE);
        if due {
            (self.last_scan, self.living) = (Some(Instant::now()), None);
        }
        due
    }

    /// Whether no process uses the folder of this name.
    pub fn has_ended(&mut self, name: &str) -> bool {
        if self.has_leases {
            let page = self.run.join(name).join(process::FILE).open_file(false);
            return page.is_ok_and(|page| is_held(&page) == Some(false));
        }
        self.living.get_or_insert_with(maps).iter().all(|living| living.is_done_with(name))
    }

    /// Replaces the folders of these processes, whose calls are all kept elsewhere, by their pages.
    pub fn replace(&mut self, names: &[String]) {
        if !self.replaces || names.is_empty() {
            return;
        }
        let all = self.run.list().unwrap_or_default();
        let folders = all.iter().filter(|name| name.starts_with('p'));
        // A vfork child has the names of its parent, and may be read later.
        let shared_names: Vec<_> =
            folders.filter_map(|name| Some(self.run.join(name).join(names::FILE).other_names()?.path())).collect();
        for name in names {
            if !shared_names.contains(&self.run.join(name).join(names::FILE).path()) && self.replace_one(name).is_none()
            {
                // The file system cannot exchange two names, or is full.
                self.replaces = false;
            }
        }
    }

    /// None: it cannot be done here.
    fn replace_one(&self, name: &str) -> Option<()> {
        let folder = self.run.join(name);
        // Files of counts and of hooks are read at the end of the run.
        let is_read = |file: &String| {
            matches!(&**file, process::FILE | names::FILE) || is_heads(file) || RingFile::number(file).is_some()
        };
        if !folder.list().ok()?.iter().all(is_read) {
            return Some(());
        }
        let mut page = folder.join(process::FILE).read(PAGE).ok()?;
        page.resize(PAGE, 0);
        let replacement = self.run.join(format!("{ENDED}{name}"));
        let exchanged = replacement
            .create_new()
            .and_then(|mut file| file.write_all(&page))
            .and_then(|()| replacement.exchange(name));
        if exchanged.is_err() {
            let _ = replacement.remove_file();
            return None;
        }
        let _ = replacement.remove_folder();
        Some(())
    }
}

/// Whether some folder was replaced by its page.
pub fn some_are_replaced(run: &RunPath) -> bool {
    run.list().unwrap_or_default().iter().any(|name| name.starts_with('p') && run.join(name).is_file())
}

/// A file with the heads of several rings.
fn is_heads(name: &str) -> bool {
    let number = name.strip_prefix('h').and_then(|name| name.strip_suffix(".heads"));
    number.is_some_and(|number| number.bytes().all(|b| b.is_ascii_digit()))
}

/// Whether a lease shows on this file system that a file is mapped. It is tried with a new file.
fn has_leases(run: &RunPath) -> bool {
    let place = run.join(format!("{ENDED}lease"));
    let Ok(file) = place.create_new() else { return false };
    let probe = || {
        file.set_len(PAGE as u64).ok()?;
        // SAFETY: a new mapping of that file, which is unmapped and never touched.
        let shows_mapping = unsafe {
            let at = rustix::mm::mmap(
                std::ptr::null_mut(),
                PAGE,
                rustix::mm::ProtFlags::READ | rustix::mm::ProtFlags::WRITE,
                rustix::mm::MapFlags::SHARED,
                &file,
                0,
            );
            let at = at.ok()?;
            drop(file);
            let held_while_mapped = place.open_file(false).ok().and_then(|file| is_held(&file));
            rustix::mm::munmap(at, PAGE).ok()?;
            held_while_mapped
        };
        let free = place.open_file(false).ok().and_then(|file| is_held(&file));
        Some(shows_mapping == Some(true) && free == Some(false))
    };
    let works = probe() == Some(true);
    let _ = place.remove_file();
    works
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutap_trace::overview;
    use cutap_trace::synthetic::Run;

    #[test]
    fn the_page_of_a_process_stays_in_place_of_its_folder() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("run");
        let made = Run::new(&path);
        let mut process = made.process(100, "/bin/prog");
        process.driver(&["cuInit"]);
        process.thread(101, 4).call(0, &[0], 5, 0);
        process.count(3, 17);
        let before = overview(&path).unwrap();
        drop(process);
        std::fs::write(path.join("ended-p7-0"), "left by a killed one").unwrap();
        let run = RunPath::open(&path).unwrap();
        let mut folders = EndedFolders::new(&run, true);
        assert!(folders.is_due() && folders.has_ended("p100-0"));
        folders.replace(&["p100-0".to_owned()]);
        assert!(path.join("p100-0").is_file());
        assert_eq!(run.list().unwrap(), ["p100-0"], "nothing else is left");
        let after = overview(&path).unwrap();
        assert_eq!(
            (after.rings, &after.diagnostics.counts, &after.processes.all),
            (before.rings, &before.diagnostics.counts, &before.processes.all)
        );
    }

    /// Who lives has its page mapped.
    #[test]
    fn a_folder_in_use_stays() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("run");
        let made = Run::new(&path);
        let _process = made.process(100, "/bin/prog");
        let run = RunPath::open(&path).unwrap();
        let page = std::fs::File::options().read(true).write(true).open(path.join("p100-0/process")).unwrap();
        let mut folders = EndedFolders::new(&run, true);
        if !folders.has_leases {
            return println!("skipped: this file system has no leases");
        }
        assert!(!folders.has_ended("p100-0"));
        drop(page);
        // Files of counts are read at the end.
        std::fs::write(path.join("p100-0/t0.counts"), "").unwrap();
        folders.replace(&["p100-0".to_owned()]);
        assert!(path.join("p100-0").is_dir());
    }
}
