//! Reads output of strace: ioctl, open family, close, dup family, mmap, munmap. With `-y` descriptors have paths;
//! without it they follow from the opens in the log. strace does not print the bytes of NVIDIA's requests. A hex dump
//! after an ioctl (lines `| 00000  1b 00 ...`) is taken as its argument.

use super::strace_line::{Line, Prefix, number, parse};
use super::{argument_size, is_of_driver, is_of_system};
use crate::call::{Action, Head, Ioctl, KernelCall, Run};
use crate::ranges::Ranges;
use cutap_rm::Device;
use std::collections::HashMap;

const NAMES: [&str; 12] =
    ["ioctl", "open", "openat", "openat2", "creat", "close", "dup", "dup2", "dup3", "fcntl", "mmap", "munmap"];

pub(super) fn is_line(line: &str) -> bool {
    let prefix = Prefix::of(line);
    let name = prefix.rest.split('(').next().unwrap_or_default();
    prefix.rest.contains('(') && NAMES.contains(&name)
}

pub(super) fn read(text: &str) -> Run {
    let source = Some("strace".to_owned());
    let mut reader = Reader { files: HashMap::new(), ranges: Ranges::default(), first: None };
    let mut run = Run { head: Head { source, ..Head::default() }, ..Run::default() };
    // The begin of a call that another thread's line interrupted, by process.
    let mut unfinished: HashMap<u32, (Option<f64>, String)> = HashMap::new();
    // The last call is an ioctl of the driver, to which a dump belongs.
    let mut dumped = false;
    for (at, line) in text.lines().enumerate() {
        if let Some(bytes) = dump(line) {
            if let (true, Some(KernelCall { action: Action::Ioctl(ioctl), .. })) = (dumped, run.calls.last_mut()) {
                let size = argument_size(&ioctl.path, ioctl.request).unwrap_or(usize::MAX);
                let argument = ioctl.before.get_or_insert_default();
                argument.extend(bytes);
                argument.truncate(size);
            }
            continue;
        }
        let mut prefix = Prefix::of(line);
        if let Some(begin) = prefix.rest.strip_suffix("<unfinished ...>") {
            unfinished.insert(prefix.pid, (prefix.seconds, begin.to_owned()));
            continue;
        }
        let mut whole = prefix.rest.to_owned();
        if let Some((_, rest)) = prefix.rest.strip_prefix("<... ").and_then(|r| r.split_once(" resumed>")) {
            let Some((seconds, begin)) = unfinished.remove(&prefix.pid) else { continue };
            prefix.seconds = seconds;
            whole = begin + rest;
        }
        dumped = false;
        let name = whole.split('(').next().unwrap_or_default();
        if !whole.contains('(') || !NAMES.contains(&name) {
            continue;
        }
        let Some(line) = parse(&prefix, &whole) else {
            run.skip(at + 1, "an incomplete call");
            continue;
        };
        match reader.call(&line) {
            Ok(Some(call)) => {
                dumped = matches!(call.action, Action::Ioctl(_));
                run.calls.push(call);
            }
            Ok(None) => {}
            Err(reason) => run.skip(at + 1, reason),
        }
    }
    // Calls in which the log ended.
    for (pid, (seconds, begin)) in unfinished {
        let whole = begin + ") = ?";
        let prefix = Prefix { pid, seconds, rest: "" };
        if let Some(Ok(Some(call))) = parse(&prefix, &whole).map(|line| reader.call(&line)) {
            run.calls.push(call);
        }
    }
    run
}

struct Reader {
    /// Paths of descriptors. Threads and processes are not distinguished: strace prints thread numbers only.
    files: HashMap<i32, String>,
    /// Mapped ranges of the driver's nodes.
    ranges: Ranges,
    first: Option<f64>,
}

impl Reader {
    /// The call, if it concerns the driver.
    fn call(&mut self, line: &Line<'_>) -> Result<Option<KernelCall>, &'static str> {
        let argument = |n: usize| line.arguments.get(n).copied().unwrap_or_default();
        let result = line.result;
        let new_fd = result.and_then(|r| i32::try_from(r).ok()).filter(|fd| *fd >= 0);
        let action = match line.name {
            "ioctl" => self.ioctl(argument(0), argument(1), argument(2))?,
            "open" | "creat" | "openat" | "openat2" => {
                let at = usize::from(line.name.starts_with("openat"));
                let path = text(argument(at)).ok_or("a path that is cut off; use strace -s 4096")?;
                if let Some(fd) = new_fd {
                    self.files.insert(fd, path.clone());
                }
                let flags = match line.name {
                    // Its second argument is the mode.
                    "creat" => CREATES,
                    _ => open_flags(argument(at + 1)),
                };
                is_of_system(&path).then_some(Action::Open { path, flags, stream: String::new() })
            }
            "close" => {
                let (fd, path) = self.file(argument(0)).ok_or("a descriptor that is no number")?;
                self.files.remove(&fd);
                is_of_driver(&path).then_some(Action::Close { fd, path })
            }
            "fcntl" if !argument(1).contains("F_DUPFD") && !["0", "0x406"].contains(&argument(1)) => None,
            "dup" | "dup2" | "dup3" | "fcntl" => {
                let (fd, path) = self.file(argument(0)).ok_or("a descriptor that is no number")?;
                if let Some(new) = new_fd {
                    self.files.insert(new, path.clone());
                }
                is_of_driver(&path).then_some(Action::Dup { fd, path })
            }
            "mmap" => self.mmap(line)?,
            _ => {
                let range = number(argument(0)).zip(number(argument(1)));
                let (address, length) = range.ok_or("an address that is no number")?;
                let concerns = self.ranges.overlap(address, length);
                concerns.then_some(Action::Munmap { address, length })
            }
        };
        let Some(action) = action else { return Ok(None) };
        let start = line.seconds.map(|s| s - *self.first.get_or_insert(s));
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Saturates; negative becomes 0.
        let ns = |seconds: f64| (seconds * 1e9).round() as u64;
        let (pid, time_ns, duration_ns) = (line.pid, start.map(ns), line.duration.map(ns));
        Ok(Some(KernelCall { tid: pid, result, time_ns, duration_ns, ..KernelCall::new(action) }))
    }

    fn ioctl(&self, fd: &str, request: &str, argument: &str) -> Result<Option<Action>, &'static str> {
        let (fd, path) = self.file(fd).ok_or("a descriptor that is no number")?;
        let request = request_number(request);
        let unknown = path.is_empty() && request.is_some_and(|r| r >> 8 & 0xff == u64::from(b'F'));
        if Device::of_path(&path).is_none() && !unknown {
            return Ok(None);
        }
        let request = request.ok_or("a request with a name; use strace -X raw")?;
        let argument = number(argument).unwrap_or(0);
        Ok(Some(Action::Ioctl(Ioctl { fd, path, request, argument, ..Ioctl::default() })))
    }

    fn mmap(&mut self, line: &Line<'_>) -> Result<Option<Action>, &'static str> {
        let argument = |n: usize| line.arguments.get(n).copied().unwrap_or_default();
        let (fd, path) = self.file(argument(4)).ok_or("a descriptor that is no number")?;
        if !is_of_driver(&path) {
            return Ok(None);
        }
        let bad = "a number that strace replaced by an unknown name; use strace -X raw";
        let length = number(argument(1)).ok_or(bad)?;
        if let Some(at) = line.result.filter(|r| !(-4095..0).contains(r)) {
            self.ranges.add(at.cast_unsigned(), length);
        }
        let small = |value: Option<u64>| value.and_then(|v| u32::try_from(v).ok()).ok_or(bad);
        Ok(Some(Action::Mmap {
            fd,
            path,
            address: number(argument(0)).ok_or(bad)?,
            length,
            protection: small(symbols(argument(2), &PROTECTIONS))?,
            flags: small(symbols(argument(3), &FLAGS))?,
            offset: number(argument(5)).unwrap_or(0),
        }))
    }

    /// The descriptor and its path: `3`, `3</dev/nvidiactl>`, `3</dev/nvidiactl<char 195:255>>`.
    fn file(&self, text: &str) -> Option<(i32, String)> {
        let (fd, path) = text.split_once('<').unwrap_or((text, ""));
        let fd = number(fd)?;
        let fd = i32::try_from(fd.cast_signed()).or_else(|_| u32::try_from(fd).map(u32::cast_signed)).ok()?;
        let path = path.split(['<', '>']).next().filter(|p| !p.is_empty());
        Some((fd, path.map(str::to_owned).or_else(|| self.files.get(&fd).cloned()).unwrap_or_default()))
    }
}

/// What creat adds by itself: O_WRONLY, O_CREAT, O_TRUNC.
const CREATES: u64 = 0x241;
const OPENS: [(&str, u64); 16] = [
    ("O_RDONLY", 0),
    ("O_WRONLY", 1),
    ("O_RDWR", 2),
    ("O_CREAT", 0x40),
    ("O_EXCL", 0x80),
    ("O_NOCTTY", 0x100),
    ("O_TRUNC", 0x200),
    ("O_APPEND", 0x400),
    ("O_NONBLOCK", 0x800),
    ("O_DIRECT", 0x4000),
    ("O_LARGEFILE", 0x8000),
    ("O_DIRECTORY", 0x1_0000),
    ("O_NOFOLLOW", 0x2_0000),
    ("O_NOATIME", 0x4_0000),
    ("O_CLOEXEC", 0x8_0000),
    ("O_PATH", 0x20_0000),
];
const PROTECTIONS: [(&str, u64); 4] = [("PROT_NONE", 0), ("PROT_READ", 1), ("PROT_WRITE", 2), ("PROT_EXEC", 4)];
const FLAGS: [(&str, u64); 6] = [
    ("MAP_SHARED", 1),
    ("MAP_PRIVATE", 2),
    ("MAP_FIXED", 0x10),
    ("MAP_ANONYMOUS", 0x20),
    ("MAP_NORESERVE", 0x4000),
    ("MAP_POPULATE", 0x8000),
];

/// A number, or names joined by `|`.
fn symbols(text: &str, names: &[(&str, u64)]) -> Option<u64> {
    let one = |word: &str| number(word).or_else(|| names.iter().find(|(n, _)| *n == word).map(|(_, value)| *value));
    text.split('|').try_fold(0, |all, word| Some(all | one(word.trim())?))
}

/// The flags of open. Names that are not here, such as those of a later kernel, are left out.
fn open_flags(text: &str) -> u64 {
    text.split('|').filter_map(|word| symbols(word, &OPENS)).fold(0, |all, flag| all | flag)
}

/// `0xc020462a`, or `_IOC(_IOC_READ|_IOC_WRITE, 0x46, 0x2a, 0x20)`, also `_IOWR(0x46, 0x2a, 0x20)`.
fn request_number(text: &str) -> Option<u64> {
    if let Some(number) = number(text) {
        return Some(number & 0xffff_ffff);
    }
    let (name, inside) = text.split_once('(')?;
    let words: Vec<&str> = inside.strip_suffix(')')?.split(',').map(str::trim).collect();
    let direction = [("_IOC_NONE", 0), ("_IOC_WRITE", 1), ("_IOC_READ", 2)];
    let (direction, rest) = match (name, &words[..]) {
        ("_IOC", [first, rest @ ..]) => (symbols(first, &direction)?, rest),
        ("_IOWR", rest) => (3, rest),
        ("_IOR", rest) => (2, rest),
        ("_IOW", rest) => (1, rest),
        _ => return None,
    };
    let [kind, number_, size] = rest else { return None };
    let part = |text: &str, most: u64| number(text).filter(|n| *n <= most);
    Some(direction << 30 | part(size, 0x3fff)? << 16 | part(kind, 0xff)? << 8 | part(number_, 0xff)?)
}

/// A text in quotes that was not cut off.
fn text(argument: &str) -> Option<String> {
    let inside = argument.strip_prefix('"')?.strip_suffix('"')?;
    Some(inside.replace("\\\"", "\""))
}

/// The bytes of a dump line: ` | 00010  00 01 02 ...  ....`.
fn dump(line: &str) -> Option<Vec<u8>> {
    let rest = line.trim_start().strip_prefix("| ")?;
    let (offset, rest) = rest.split_once("  ")?;
    u64::from_str_radix(offset, 16).ok()?;
    // 16 bytes of three characters each, with a space in the middle.
    let digits: String = rest.chars().take(49).collect();
    digits.split_whitespace().map(|pair| u8::from_str_radix(pair, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = r#"
100 1.5 openat(AT_FDCWD, "/dev/nvidiactl", O_RDWR|O_CLOEXEC) = 3
[pid 101] 1.6 openat(0xffffff9c, "/etc/passwd", 0) = 4
100 1.7 ioctl(3, 0xc020462a, 0x7ffe10) = 0 <0.000012>
 | 00000  1b 00 d0 c1 1b 00 d0 c1  01 01 00 00 00 00 00 00  ................ |
 | 00010  10 00 00 00 00 00 00 00  28 00 00 00 00 00 00 00  ........(....... |
100 1.8 ioctl(3, _IOC(_IOC_READ|_IOC_WRITE, 0x46, 0x29, 0x10), 0x7ffe10) = -1 EINVAL (Invalid argument)
100 1.9 ioctl(5</dev/nvidia-uvm<char 510:0>>, _IOC(_IOC_NONE, 0, 0x25, 0), 0x7ffe20 <unfinished ...>
101 2.0 ioctl(4, 0x5401, 0x7ffe20) = -1 ENOTTY (x)
100 2.1 <... ioctl resumed>) = 0
100 mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_SHARED, 3, 0x1000) = 0x7f0000000000
100 dup(3) = 6
100 ioctl(6, TCGETS, 0x7ffe20) = 0
100 munmap(0x7f0000000000, 4096) = 0
100 munmap(0x8f0000000000, 4096) = 0
100 close(6) = 0
100 ioctl(3, 0xc0104629, 0x7ffe10 <unfinished ...>
"#;

    #[test]
    fn flags_of_open() {
        let flags = |line: &str| match read(line).calls.first().map(|call| call.action.clone()) {
            Some(Action::Open { flags, .. }) => Some(flags),
            _ => None,
        };
        assert_eq!(flags("1 openat(AT_FDCWD, \"/dev/nvidiactl\", O_RDWR|O_CLOEXEC) = 3"), Some(0x8_0002));
        assert_eq!(flags("1 openat(0xffffff9c, \"/dev/nvidiactl\", 0x80002) = 3"), Some(0x8_0002));
        assert_eq!(flags("1 open(\"/sys/module/nvidia/version\", O_RDONLY|O_FUTURE) = 3"), Some(0));
        assert_eq!(flags("1 creat(\"/dev/shm/x\", 0600) = 3"), Some(CREATES));
        assert_eq!(flags("1 open(\"/etc/passwd\", O_RDONLY) = 3"), None);
    }

    #[test]
    fn a_log() {
        assert!(LOG.lines().any(is_line));
        let run = read(LOG);
        let kinds: Vec<&str> = run
            .calls
            .iter()
            .map(|c| match &c.action {
                Action::Ioctl(i) if i.path == "/dev/nvidia-uvm" => "uvm",
                Action::Ioctl(_) => "ioctl",
                Action::Open { .. } => "open",
                Action::Close { .. } => "close",
                Action::Dup { .. } => "dup",
                Action::Mmap { .. } => "mmap",
                Action::Munmap { .. } => "munmap",
                Action::Getenv { .. } => "getenv",
            })
            .collect();
        assert_eq!(kinds, ["open", "ioctl", "ioctl", "uvm", "mmap", "dup", "munmap", "close", "ioctl"]);
        assert_eq!(
            (run.skipped_count, run.skipped[0].as_str()),
            (1, "line 13: a request with a name; use strace -X raw")
        );
        let Action::Ioctl(first) = &run.calls[1].action else { panic!() };
        assert_eq!((first.before.as_ref().unwrap().len(), first.before.as_ref().unwrap()[24]), (32, 0x28));
        assert_eq!((run.calls[1].time_ns, run.calls[1].duration_ns), (Some(200_000_000), Some(12_000)));
        let Action::Ioctl(second) = &run.calls[2].action else { panic!() };
        assert_eq!((second.request, second.before.as_ref(), run.calls[2].result), (0xc010_4629, None, Some(-22)));
        assert_eq!(run.calls[8].result, None);
    }
}
