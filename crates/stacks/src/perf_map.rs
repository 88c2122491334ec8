//! `/tmp/perf-PID.map`: what compilers that make code at run time say of it, for whoever asks: a line for each
//! function, its address and length in hexadecimal, and its name. The file may be another process's of the same number,
//! so one that is much older than what is known of the process does not count. Anybody may make one, so it must belong
//! to root or to us.

use crate::demangle;
use crate::regular::open_unlinked;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// More is not read.
const MOST: u64 = 256 << 20;
/// How long a process may have made code before its first call.
const BEFORE: Duration = Duration::from_secs(3600);

/// Functions that were made at run time.
#[derive(Debug, Default)]
pub struct PerfMap(BTreeMap<u64, (u64, Arc<str>)>);

impl PerfMap {
    /// Of this process, of which this is the first known moment (nanoseconds since 1970).
    pub fn read(pid: u32, began: u64) -> PerfMap {
        let path = format!("/tmp/perf-{pid}.map");
        let earliest = SystemTime::UNIX_EPOCH + Duration::from_nanos(began).saturating_sub(BEFORE);
        let Some(file) = open_unlinked(Path::new(&path)) else { return PerfMap::default() };
        let is_of = |uid: u32| uid == 0 || uid == rustix::process::geteuid().as_raw();
        let ours = file.metadata().is_ok_and(|m| is_of(m.uid()) && m.modified().is_ok_and(|at| at >= earliest));
        if ours { PerfMap::parse(BufReader::new(file.take(MOST))) } else { PerfMap::default() }
    }

    fn parse(mut lines: impl BufRead) -> PerfMap {
        let (mut all, mut line) = (BTreeMap::new(), Vec::new());
        while lines.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
            let text = String::from_utf8_lossy(&line);
            let mut words = text.trim_end().splitn(3, ' ');
            let number = |word: Option<&str>| {
                let word = word?;
                u64::from_str_radix(word.strip_prefix("0x").unwrap_or(word), 16).ok()
            };
            // The newest of an address counts: code is made again in its place.
            if let (Some(at), Some(bytes), Some(name)) = (number(words.next()), number(words.next()), words.next()) {
                all.insert(at, (bytes, demangle::function(name)));
            }
            line.clear();
        }
        PerfMap(all)
    }

    /// The function at an address, and how far into it that is.
    pub fn at(&self, address: u64) -> Option<(Arc<str>, u64)> {
        let (from, (bytes, name)) = self.0.range(..=address).next_back()?;
        (address - from < *bytes).then(|| (name.clone(), address - from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let map = PerfMap::parse(&b"1000 20 py::f:/tmp/a b.py\nno line\n0x2000 10 g\n1000 30 newer\n\xff\xff"[..]);
        let at = |address| map.at(address).map(|(name, into)| (name.to_string(), into));
        assert_eq!(at(0x1021), Some(("newer".into(), 0x21)));
        assert_eq!(at(0x200f), Some(("g".into(), 15)));
        assert_eq!((at(0x2010), at(0xfff)), (None, None));
    }

    /// Anybody may put one there.
    #[test]
    fn a_pipe_is_not_waited_for() {
        let pid = u32::MAX - std::process::id();
        let path = format!("/tmp/perf-{pid}.map");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let map = PerfMap::read(pid, 0);
        std::fs::remove_file(&path).unwrap();
        assert!(map.at(1).is_none());
    }

    /// Only what root or we wrote counts, and no link to it.
    #[test]
    fn a_file_of_another_user_names_nothing() {
        let pid = u32::MAX - 1 - std::process::id();
        let (path, other) = (format!("/tmp/perf-{pid}.map"), format!("/tmp/perf-{}.map", pid - (1 << 28)));
        let names = |pid| PerfMap::read(pid, 0).at(0x1001).is_some();
        std::fs::write(&path, "1000 20 f\n").unwrap();
        std::os::unix::fs::symlink(&path, &other).unwrap();
        let mut found = vec![names(pid), names(pid - (1 << 28))];
        let given = std::os::unix::fs::chown(&path, Some(65_534), None);
        found.push(names(pid));
        for file in [&path, &other] {
            std::fs::remove_file(file).unwrap();
        }
        match given {
            Ok(()) => assert_eq!(found, [true, false, false]),
            Err(e) => {
                eprintln!("skipped: the file cannot be given to another user ({e})");
                assert_eq!(found[..2], [true, false]);
            }
        }
    }
}
