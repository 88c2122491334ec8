//! The values behind the words of a rule: numbers, times, counts of calls, signals, conditions.

use super::function_names::{FunctionName, NamedStatus};
use super::rule_text::ArgumentTest;
use cutap_quantity::number;
use cutap_wire::injected::{CONDITIONS, MODULE, PARAMETER, comparison};

pub type Parsed<T> = std::result::Result<T, String>;

pub fn refused(value: &str, what: &str, example: &str) -> String {
    format!("{value} is no {what}; write it as {example}")
}

/// A whole number, also with a unit of bytes.
pub fn whole(text: &str) -> Option<i64> {
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok().map(|number| number as i64);
    }
    text.parse::<i64>().ok().or_else(|| number(text).filter(|number| number.fract() == 0.0).map(|number| number as i64))
}

pub fn error(functions: &[FunctionName], text: &str) -> Parsed<u64> {
    let mut result = None;
    for function in functions {
        let status = function.status()?;
        let code = whole(text).map_or_else(|| status.code(text), |number| Ok(number as u64))?;
        if result.is_some_and(|before| before != code) {
            return Err(format!("{text} is another number for {}; make a rule for each", function.pattern));
        }
        result = Some(code);
    }
    result.ok_or_else(|| NamedStatus::missing(&"the rule"))
}

/// strace's `first[..last][+[step]]`.
pub fn when(text: &str) -> Parsed<(u64, u64, u64)> {
    let wrong = || refused(text, "number of calls", "3, 3..5, 3+ or 3+2");
    let (range, step) = match text.split_once('+') {
        Some((range, "")) => (range, Some(1)),
        Some((range, step)) => (range, Some(step.parse::<u64>().map_err(|_| wrong())?)),
        None => (text, None),
    };
    let (first, last) = match range.split_once("..") {
        Some((first, last)) => (first, Some(last.parse::<u64>().map_err(|_| wrong())?)),
        None => (range, None),
    };
    let first = first.parse::<u64>().map_err(|_| wrong())?;
    let last = last.unwrap_or(if step.is_some() { u64::MAX } else { first });
    let step = step.unwrap_or(1);
    if first == 0 || step == 0 || last < first { Err(wrong()) } else { Ok((first, last, step)) }
}

/// Signals by the names of strace, with or without SIG.
pub fn signal(text: &str) -> Parsed<u32> {
    const SIGNALS: [(&str, i32); 16] = [
        ("HUP", libc::SIGHUP),
        ("INT", libc::SIGINT),
        ("QUIT", libc::SIGQUIT),
        ("ILL", libc::SIGILL),
        ("TRAP", libc::SIGTRAP),
        ("ABRT", libc::SIGABRT),
        ("BUS", libc::SIGBUS),
        ("FPE", libc::SIGFPE),
        ("KILL", libc::SIGKILL),
        ("USR1", libc::SIGUSR1),
        ("SEGV", libc::SIGSEGV),
        ("USR2", libc::SIGUSR2),
        ("PIPE", libc::SIGPIPE),
        ("ALRM", libc::SIGALRM),
        ("TERM", libc::SIGTERM),
        ("STOP", libc::SIGSTOP),
    ];
    let name = text.strip_prefix("SIG").unwrap_or(text);
    let named = SIGNALS.iter().find(|(known, _)| *known == name).map(|(_, number)| *number as u32);
    let by_number = text.parse::<u32>().ok().filter(|number| (1..=64).contains(number));
    named.or(by_number).ok_or_else(|| refused(text, "signal", "SIGTERM"))
}

pub fn parameter(name: &str) -> Parsed<String> {
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if is_name && name.len() < PARAMETER { Ok(name.to_owned()) } else { Err(refused(name, "parameter", "bytesize")) }
}

/// `size>1MiB`, several joined by `&` or commas.
pub fn tests(text: &str) -> Parsed<Vec<ArgumentTest>> {
    const SIGNS: [(&str, u32); 7] = [
        (">=", comparison::AT_LEAST),
        ("<=", comparison::AT_MOST),
        ("!=", comparison::DIFFERENT),
        ("==", comparison::EQUAL),
        (">", comparison::GREATER),
        ("<", comparison::LESS),
        ("=", comparison::EQUAL),
    ];
    let parts = text.split(['&', ',']).map(str::trim).filter(|part| !part.is_empty());
    let mut all = Vec::new();
    for part in parts {
        let comparison = SIGNS.iter().find_map(|(sign, comparison)| Some((part.split_once(sign)?, *comparison)));
        let ((name, value), comparison) = comparison.ok_or_else(|| refused(part, "condition", "bytesize>1MiB"))?;
        let value = whole(value.trim()).ok_or_else(|| refused(part, "condition", "bytesize>1MiB"))?;
        all.push(ArgumentTest { parameter: parameter(name.trim())?, comparison, value });
    }
    if all.len() > CONDITIONS {
        return Err(format!("{} conditions are too many ({CONDITIONS} fit)", all.len()));
    }
    Ok(all)
}

/// `bytesize/1GiB`: a parameter, and bytes a second. None: it is no such delay.
pub fn delay_by_bytes(text: &str) -> Option<Parsed<(String, u64)>> {
    let (name, speed) = text.split_once('/')?;
    let speed = speed.strip_suffix("/s").unwrap_or(speed);
    let bytes = whole(speed).and_then(|bytes| u64::try_from(bytes).ok()).filter(|bytes| *bytes > 0);
    let bytes = bytes.ok_or_else(|| refused(speed, "number of bytes a second", "1GiB"));
    Some(bytes.and_then(|bytes| Ok((parameter(name.trim())?, bytes))))
}

/// `site=MODULE+0xOFFSET` of the conditions, and the others.
pub fn site(conditions: &str) -> Parsed<(Option<(String, u64)>, String)> {
    let (mut site, mut tests) = (None, Vec::new());
    for part in conditions.split(['&', ',']).map(str::trim) {
        let Some(text) = part.strip_prefix("site=") else {
            tests.push(part);
            continue;
        };
        let pair = text.rsplit_once('+').and_then(|(module, offset)| {
            let offset = u64::from_str_radix(offset.strip_prefix("0x")?, 16).ok()?;
            (!module.is_empty() && module.len() < MODULE).then(|| (module.to_owned(), offset))
        });
        site = Some(pair.ok_or_else(|| refused(text, "call site", "libapp.so+0x1f20"))?);
    }
    Ok((site, tests.join("&")))
}
