//! One program, run plain and under cutap, and what must be the same.
//!
//! Every check starts from the same three facts: output and exit as without cutap; the calls in the trace are the calls
//! that the fixtures counted, apart from those that a test names as missed; what was missed is listed. A golden text
//! adds order and nesting.

use crate::counts::summary;
use crate::process::scratch;
use crate::{Counts, Finished, calls_in, counts, cutap, finish, normal_form, out, programs};
use std::ffi::OsStr;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// A program and what a test says about it.
#[derive(Default)]
pub struct Case {
    name: String,
    golden: String,
    preload: Vec<String>,
    hooks: Vec<PathBuf>,
    missed: Counts,
    least: Counts,
    early: Counts,
    listed: Vec<String>,
    record: bool,
}

/// The program of that name in `tests/programs`.
pub fn case(name: &str) -> Case {
    Case { name: name.to_owned(), golden: name.to_owned(), ..Case::default() }
}

/// A trace of one run, with the calls that really happened.
struct Traced {
    plain: Finished,
    run: Finished,
    text: String,
    real: Counts,
}

impl Case {
    /// Compares with another program's golden text: the same calls, made in another way.
    pub fn like(mut self, other: &str) -> Case {
        self.golden = other.to_owned();
        self
    }

    /// With this library in LD_PRELOAD, plain and traced.
    pub fn preload(mut self, library: &str) -> Case {
        self.preload.push(out().join(library).to_str().expect("the target folder's path is text").to_owned());
        self
    }

    /// Traced with this hook library.
    pub fn hook(mut self, library: &Path) -> Case {
        self.hooks.push(library.to_owned());
        self
    }

    /// The program's file.
    pub fn path(&self) -> PathBuf {
        out().join(&self.name)
    }

    /// So many calls of `library:function` cannot be seen, and this library must be listed as the reason.
    pub fn missed(mut self, function: &str, calls: u64, listed: &str) -> Case {
        self.missed.insert(function.to_owned(), calls);
        self.listed.push(listed.to_owned());
        self
    }

    /// By a recording and `cutap show` of it, not by `cutap trace`.
    pub fn recorded(mut self) -> Case {
        self.record = true;
        self
    }

    /// The trace is the golden text.
    pub fn golden(self) {
        let traced = self.trace(&[]);
        let normal = normal_form(&traced.text);
        self.check_golden(&normal, &traced.text);
        self.check_counts(&calls_in(&normal), &traced);
        self.check_listed(&traced);
    }

    /// The numbers of calls are right; for programs whose order differs from run to run.
    pub fn counts(self) {
        let traced = self.trace(&["-c", "--json"]);
        self.check_counts(&summary(&traced.text), &traced);
        self.check_listed(&traced);
    }

    /// At least so many calls of `library:function` must be seen where others may be missed.
    pub fn at_least(mut self, function: &str, calls: u64) -> Case {
        self.least.insert(function.to_owned(), calls);
        self
    }

    /// Up to so many calls of `library:function` may be seen that the fixture did not count, because they were left
    /// before.
    pub fn left_early(mut self, function: &str, calls: u64) -> Case {
        self.early.insert(function.to_owned(), calls);
        self
    }

    /// Calls may be missing only if this library is listed, and none is shown that did not happen.
    pub fn seen_or_listed(self, library: &str) {
        let traced = self.trace(&[]);
        let seen = calls_in(&normal_form(&traced.text));
        for (function, calls) in &seen {
            assert!(
                traced.real.get(function).is_some_and(|real| calls <= real),
                "{function} {calls} times, really {:?}\n{}",
                traced.real,
                traced.text
            );
        }
        for (function, calls) in &self.least {
            assert!(seen.get(function) >= Some(calls), "{function} fewer than {calls} times\n{}", traced.text);
        }
        let said = traced.said().any(|l| l.contains(library));
        assert!(
            seen == traced.real || said,
            "neither seen nor listed: {library}\nseen {seen:?}\nreal {:?}\n{}",
            traced.real,
            traced.text
        );
    }

    /// No process of ours: the environment that `cutap env` prints, with this library before or after ours in
    /// LD_PRELOAD.
    pub fn by_environment(self, before: &str, after: &str) {
        let folder = scratch("run");
        let counted = folder.join("counts");
        let run = folder.join("run");
        let script =
            r#"set -e; eval "$("$0" env -o "$1")"; export LD_PRELOAD="$2${2:+:}$LD_PRELOAD${3:+:}$3"; exec "$4""#;
        let path = |library: &str| if library.is_empty() { PathBuf::new() } else { out().join(library) };
        let mut shell = Command::new("sh");
        shell
            .args(["-c", script])
            .arg(cutap())
            .arg(&run)
            .arg(path(before))
            .arg(path(after))
            .arg(self.program().get_program());
        let traced = finish(self.environment(&mut shell, &counted));
        let real = counts::read(&counted);
        let preloads = [before, after].into_iter().filter(|l| !l.is_empty());
        let plain = preloads.fold(case(&self.name), Case::preload).plain();
        let text = finish(Command::new(cutap()).arg("show").arg(&run)).stdout;
        same(&self.name, &plain, &traced);
        let normal = normal_form(&text);
        self.check_golden(&normal, &text);
        self.check_counts(&calls_in(&normal), &Traced { plain, run: traced, text, real });
    }

    /// The trace as cutap wrote it, with these flags; the program must not have noticed.
    pub fn text(self, flags: &[&str]) -> String {
        self.trace(flags).text
    }

    /// Runs it without cutap.
    pub fn plain(&self) -> Finished {
        let folder = scratch("plain");
        let mut program = self.program();
        finish(self.environment(&mut program, &folder.join("counts")).env("LD_PRELOAD", self.preload.join(":")))
    }

    fn trace(&self, flags: &[&str]) -> Traced {
        let plain = self.plain();
        let folder = scratch("trace");
        let (file, counted) = (folder.join("trace"), folder.join("counts"));
        let program = self.program();
        let mut traced = Command::new(cutap());
        traced
            .args(if self.record { &["record"][..] } else { &["trace"] })
            .args(if self.record { &[] } else { flags })
            .args(self.hooks.iter().flat_map(|h| [OsStr::new("--hook"), h.as_os_str()]))
            .arg("-o")
            .arg(&file)
            .arg("--")
            .arg(program.get_program())
            .args(program.get_args());
        if !self.preload.is_empty() {
            traced.env("LD_PRELOAD", self.preload.join(":"));
        }
        let run = finish(self.environment(&mut traced, &counted));
        same(&self.name, &plain, &run);
        let text = match self.record {
            true => finish(Command::new(cutap()).arg("show").args(flags).arg(&file)).everything(),
            false => fs::read_to_string(&file)
                .unwrap_or_else(|e| panic!("cutap wrote no {}: {e}\n{}", file.display(), run.stderr)),
        };
        let real = counts::read(&counted);
        Traced { plain, run, text, real }
    }

    fn program(&self) -> Command {
        if self.name.ends_with(".py") {
            let mut python = Command::new("python3");
            python.arg(programs::script(&self.name));
            return python;
        }
        Command::new(out().join(&self.name))
    }

    fn environment<'a>(&self, command: &'a mut Command, counted: &Path) -> &'a mut Command {
        command.env("LD_LIBRARY_PATH", out()).env("FIXTURE_COUNTS", counted).env_remove("LD_BIND_NOW")
    }

    fn check_golden(&self, normal: &str, text: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(format!("{}.txt", self.golden));
        if env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&path, normal).expect("the checkout is writable");
        }
        let golden = fs::read_to_string(&path)
            .unwrap_or_else(|e| panic!("{}: {e}; UPDATE_GOLDEN=1 writes it, then read it", path.display()));
        assert_eq!(normal, golden, "{}: the trace is not the golden text; it was:\n{text}", self.name);
    }

    fn check_counts(&self, seen: &Counts, traced: &Traced) {
        let mut expected = traced.real.clone();
        for (function, calls) in &self.missed {
            let real =
                expected.get_mut(function).unwrap_or_else(|| panic!("{}: {function} was never called", self.name));
            *real -= calls;
        }
        for (function, calls) in &self.early {
            let real =
                expected.get_mut(function).unwrap_or_else(|| panic!("{}: {function} was never called", self.name));
            *real = seen.get(function).copied().unwrap_or(0).clamp(*real, *real + calls);
        }
        expected.retain(|_, calls| *calls > 0);
        assert_eq!(
            *seen, expected,
            "{}: calls in the trace (left) and real calls (right) differ; the trace was:\n{}",
            self.name, traced.text
        );
    }

    fn check_listed(&self, traced: &Traced) {
        for library in &self.listed {
            assert!(
                traced.said().any(|l| l.contains(library)),
                "{}: {library} is not listed; the trace was:\n{}",
                self.name,
                traced.text
            );
        }
    }
}

impl Traced {
    /// cutap's own lines, from the file and from stderr (without what the program itself wrote there).
    fn said(&self) -> impl Iterator<Item = &str> {
        let own = self.run.stderr.lines().filter(|l| !self.plain.stderr.contains(l));
        self.text.lines().chain(own).filter(|l| l.starts_with("cutap: ") || l.contains("\"end\""))
    }
}

/// The program did not notice.
fn same(name: &str, plain: &Finished, traced: &Finished) {
    assert_eq!(plain.stdout, traced.stdout, "{name}: another output under cutap; its stderr was:\n{}", traced.stderr);
    let end = |f: &Finished| (f.status.code(), f.status.signal()); // a core dump belongs to the machine's settings
    assert_eq!(end(plain), end(traced), "{name}: another end under cutap; its stderr was:\n{}", traced.stderr);
}
