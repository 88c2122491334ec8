//! One line of strace: process, time, call, arguments, result, duration.

/// A complete call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line<'a> {
    pub(super) pid: u32,
    /// Seconds, of a clock that the line chose.
    pub(super) seconds: Option<f64>,
    pub(super) name: &'a str,
    pub(super) arguments: Vec<&'a str>,
    pub(super) result: Option<i64>,
    pub(super) duration: Option<f64>,
}

/// What comes before the call: the process and the time.
pub(super) struct Prefix<'a> {
    pub(super) pid: u32,
    pub(super) seconds: Option<f64>,
    pub(super) rest: &'a str,
}

impl<'a> Prefix<'a> {
    pub(super) fn of(line: &'a str) -> Self {
        let mut rest = line.trim_start();
        let mut pid = 0;
        if let Some((inside, after)) = rest.strip_prefix("[pid").and_then(|r| r.split_once(']')) {
            pid = inside.trim().parse().unwrap_or(0);
            rest = after.trim_start();
        } else if let Some((number, after)) = rest.split_once(' ')
            && let Ok(number) = number.parse()
        {
            pid = number;
            rest = after.trim_start();
        }
        let mut seconds = None;
        if let Some((word, after)) = rest.split_once(' ')
            && let Some(time) = time(word)
        {
            seconds = Some(time);
            rest = after.trim_start();
        }
        Self { pid, seconds, rest }
    }
}

/// `12:34:56.789`, `1795532076.220520`.
fn time(word: &str) -> Option<f64> {
    if !word.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let mut seconds = 0.0;
    for part in word.split(':') {
        seconds = seconds * 60.0 + part.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0)?;
    }
    Some(seconds)
}

/// Reads a call that begins at the begin of the text; none where it is incomplete.
pub(super) fn parse<'a>(prefix: &Prefix<'_>, text: &'a str) -> Option<Line<'a>> {
    let (name, rest) = text.split_once('(')?;
    if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        return None;
    }
    let (arguments, rest) = arguments(rest)?;
    let rest = rest.trim_start().strip_prefix('=')?.trim_start();
    let duration = rest.rsplit_once('<').and_then(|(_, d)| d.strip_suffix('>')).and_then(|d| d.parse().ok());
    Some(Line { pid: prefix.pid, seconds: prefix.seconds, name, arguments, result: result(rest), duration })
}

/// The arguments up to the closing bracket, and the rest of the line.
fn arguments(text: &str) -> Option<(Vec<&str>, &str)> {
    let mut all = Vec::new();
    let (mut depth, mut start, mut quoted, mut escaped) = (0_usize, 0, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'(' | b'[' | b'{' | b'<' => depth += 1,
            b')' if depth == 0 => {
                let last = text.get(start..at)?.trim();
                if !last.is_empty() || !all.is_empty() {
                    all.push(last);
                }
                return Some((all, text.get(at + 1..)?));
            }
            // The arrow of "=>" closes nothing.
            b'>' if text.as_bytes().get(at.wrapping_sub(1)) == Some(&b'=') => {}
            b')' | b']' | b'}' | b'>' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                all.push(text.get(start..at)?.trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    None
}

fn result(text: &str) -> Option<i64> {
    let mut words = text.split_whitespace();
    let first = words.next()?;
    let first = first.split('<').next()?;
    match first {
        "-1" => Some(words.next().and_then(errno).map_or(-1, |e| -e)),
        _ => number(first).map(u64::cast_signed),
    }
}

/// A number, decimal or hexadecimal, below zero too.
pub(super) fn number(text: &str) -> Option<u64> {
    let text = text.split("/*").next()?.trim();
    match text.strip_prefix('-') {
        Some(digits) => digits.parse::<i64>().ok().map(|n| n.wrapping_neg().cast_unsigned()),
        None if text == "NULL" => Some(0),
        None => crate::hex::number(text),
    }
}

/// The errors that the driver and the system calls of this layer return.
fn errno(name: &str) -> Option<i64> {
    let code = match name {
        "EPERM" => libc::EPERM,
        "ENOENT" => libc::ENOENT,
        "EINTR" => libc::EINTR,
        "EIO" => libc::EIO,
        "ENXIO" => libc::ENXIO,
        "EBADF" => libc::EBADF,
        "EAGAIN" => libc::EAGAIN,
        "ENOMEM" => libc::ENOMEM,
        "EACCES" => libc::EACCES,
        "EFAULT" => libc::EFAULT,
        "EBUSY" => libc::EBUSY,
        "EEXIST" => libc::EEXIST,
        "ENODEV" => libc::ENODEV,
        "EINVAL" => libc::EINVAL,
        "EMFILE" => libc::EMFILE,
        "ENOTTY" => libc::ENOTTY,
        "ENOSPC" => libc::ENOSPC,
        "ERANGE" => libc::ERANGE,
        "ENOSYS" => libc::ENOSYS,
        "EOVERFLOW" => libc::EOVERFLOW,
        "EOPNOTSUPP" => libc::EOPNOTSUPP,
        "ETIMEDOUT" => libc::ETIMEDOUT,
        _ => return None,
    };
    Some(code.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Option<Line<'_>> {
        let prefix = Prefix::of(text);
        parse(&Prefix::of(text), prefix.rest)
    }

    #[test]
    fn parts() {
        let all = line("[pid  12] 1795532076.5 ioctl(3<a, (b)>, 0x10, 0x7f) = -1 EINVAL (x) <0.000036>").unwrap();
        assert_eq!((all.pid, all.seconds, all.name), (12, Some(1_795_532_076.5), "ioctl"));
        assert_eq!(
            (&all.arguments[..], all.result, all.duration),
            (&["3<a, (b)>", "0x10", "0x7f"][..], Some(-22), Some(0.000_036))
        );
        let open = line("77 12:00:01 openat(AT_FDCWD, \"/dev/a,\\\"b)\", 0x2) = 5</dev/a>").unwrap();
        assert_eq!((open.pid, open.seconds, open.result), (77, Some(43201.0), Some(5)));
        assert_eq!(open.arguments, ["AT_FDCWD", "\"/dev/a,\\\"b)\"", "0x2"]);
        assert_eq!(line("getpid()  = 7").unwrap().arguments.len(), 0);
        assert_eq!(line("exit_group(0) = ?").unwrap().result, None);
        assert_eq!((line("+++ exited with 0 +++"), line("ioctl(3, "), line("x")), (None, None, None));
    }
}
