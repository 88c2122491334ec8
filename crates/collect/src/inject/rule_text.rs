//! A rule of `--inject`: `FUNCTION[CONDITION]:ACTION:ACTION…`. Actions begin at the first of their words behind a colon
//! outside of brackets. strace's words mean what they mean in strace.

use super::function_names::{FunctionName, NamedStatus};
use crate::base::error::{Error, Result};
use cutap_quantity::{nanoseconds, number};
use cutap_trace::did_you_mean;
use cutap_wire::injected::{CONDITIONS, PARAMETER, comparison};
use std::fmt::Display;

/// The words of actions.
const WORDS: [&str; 9] = ["error", "retval", "signal", "delay_enter", "delay_exit", "when", "after", "chance", "set"];

/// A condition on an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentTest {
    pub parameter: String,
    pub comparison: u32,
    pub value: i64,
}

/// A rule, checked.
#[derive(Debug, Clone)]
pub struct InjectRule {
    /// As it was written.
    pub text: String,
    pub functions: Vec<FunctionName>,
    pub conditions: Vec<ArgumentTest>,
    /// The result of the call.
    pub result: Option<u64>,
    /// The call is made, and gets the result then.
    pub is_after: bool,
    pub set: Option<(String, u64)>,
    pub delay_enter: u64,
    pub delay_exit: u64,
    pub signal: u32,
    /// First, last and step.
    pub when: (u64, u64, u64),
    /// Of 2^32.
    pub chance: u64,
}

impl InjectRule {
    /// Parses a rule, or says what is wrong with it.
    pub fn parse(text: &str) -> Result<InjectRule> {
        parsed(text).map_err(|why| Error::own(format!("--inject '{text}': {why}")))
    }
}

type Parsed<T> = std::result::Result<T, String>;

fn parsed(text: &str) -> Parsed<InjectRule> {
    let (target, actions) = split(text);
    if actions.is_empty() {
        return Err(
            "it says not what to do; write it as 'cudaMalloc:error=cudaErrorMemoryAllocation:when=3'".to_owned()
        );
    }
    let (names, conditions) = match target.split_once('[') {
        Some((names, conditions)) => (names, conditions.strip_suffix(']').ok_or("a ] is missing")?),
        None => (target, ""),
    };
    let functions: Vec<FunctionName> =
        names.split(',').map(|name| FunctionName::parse(name.trim())).collect::<Parsed<_>>()?;
    let mut rule = InjectRule {
        text: text.to_owned(),
        functions,
        conditions: tests(conditions)?,
        result: None,
        is_after: false,
        set: None,
        delay_enter: 0,
        delay_exit: 0,
        signal: 0,
        when: (1, u64::MAX, 1),
        chance: 1 << 32,
    };
    for action in actions {
        let (word, value) = action.split_once('=').map_or((action, None), |(word, value)| (word, Some(value)));
        apply(&mut rule, word, value)?;
    }
    if rule.result.is_none() && rule.is_after {
        return Err("after belongs to error and retval; give one of them".to_owned());
    }
    let does = rule.result.is_some() || rule.set.is_some() || rule.signal != 0;
    if !does && rule.delay_enter == 0 && rule.delay_exit == 0 {
        return Err("it says not what to do; give error, retval, set, signal, delay_enter or delay_exit".to_owned());
    }
    Ok(rule)
}

/// What is meant, and the actions.
fn split(text: &str) -> (&str, Vec<&str>) {
    let mut depth = 0_i32;
    let begins_action = |rest: &str| {
        let word: String = rest.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect();
        WORDS.contains(&word.as_str()) && matches!(rest.as_bytes().get(word.len()), None | Some(b'=' | b':'))
    };
    for (at, character) in text.char_indices() {
        match character {
            '[' => depth += 1,
            ']' => depth -= 1,
            ':' if depth == 0 && text.get(at + 1..).is_some_and(begins_action) => {
                let actions = text.get(at + 1..).unwrap_or("");
                return (text.get(..at).unwrap_or("").trim(), actions.split(':').map(str::trim).collect());
            }
            _ => {}
        }
    }
    (text, Vec::new())
}

fn apply(rule: &mut InjectRule, word: &str, value: Option<&str>) -> Parsed<()> {
    let needed = || value.filter(|value| !value.is_empty()).ok_or_else(|| format!("{word} needs a value, as {word}=…"));
    let time = || needed().and_then(|value| nanoseconds(value).ok_or_else(|| refused(value, "time", "10ms")));
    match word {
        "error" => rule.result = Some(error(&rule.functions, needed()?)?),
        "retval" => {
            let value = needed()?;
            rule.result = Some(whole(value).ok_or_else(|| refused(value, "number", "0"))? as u64);
        }
        "after" => rule.is_after = true,
        "signal" => rule.signal = signal(needed()?)?,
        "delay_enter" => rule.delay_enter = time()?,
        "delay_exit" => rule.delay_exit = time()?,
        "when" => rule.when = when(needed()?)?,
        "chance" => {
            let value = needed()?;
            let share = value.strip_suffix('%').and_then(|digits| digits.trim().parse::<f64>().ok());
            let share = share.filter(|share| (0.0..=100.0).contains(share));
            rule.chance = (share.ok_or_else(|| refused(value, "share", "1%"))? / 100.0 * 4_294_967_296.0) as u64;
        }
        "set" => {
            let value = needed()?;
            let pair = value.split_once('=').and_then(|(name, value)| Some((name.trim(), whole(value.trim())?)));
            let (name, value) = pair.ok_or_else(|| refused(value, "parameter with a number", "bytesize=4096"))?;
            rule.set = Some((parameter(name)?, value as u64));
        }
        _ => {
            let near = did_you_mean(word, WORDS);
            let near = if near.is_empty() { WORDS.to_vec() } else { near };
            return Err(format!("there is no action {word}; there is {}", near.join(", ")));
        }
    }
    Ok(())
}

fn refused(value: &str, what: &str, example: &str) -> String {
    format!("{value} is no {what}; write it as {example}")
}

/// A whole number, also with a unit of bytes.
fn whole(text: &str) -> Option<i64> {
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok().map(|number| number as i64);
    }
    text.parse::<i64>().ok().or_else(|| number(text).filter(|number| number.fract() == 0.0).map(|number| number as i64))
}

fn error(functions: &[FunctionName], text: &str) -> Parsed<u64> {
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
fn when(text: &str) -> Parsed<(u64, u64, u64)> {
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
fn signal(text: &str) -> Parsed<u32> {
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

fn parameter(name: &str) -> Parsed<String> {
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if is_name && name.len() < PARAMETER { Ok(name.to_owned()) } else { Err(refused(name, "parameter", "bytesize")) }
}

/// `size>1MiB`, several joined by `&` or commas.
fn tests(text: &str) -> Parsed<Vec<ArgumentTest>> {
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

impl Display for InjectRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> InjectRule {
        InjectRule::parse(text).unwrap_or_else(|e| panic!("{e}"))
    }

    #[test]
    fn rules() {
        let third = rule("cudaMalloc[size>=1MiB]:error=cudaErrorMemoryAllocation:when=3");
        assert_eq!((third.result, third.when, third.is_after), (Some(2), (3, 3, 1), false));
        let size = ArgumentTest { parameter: "size".into(), comparison: comparison::AT_LEAST, value: 1 << 20 };
        assert_eq!(third.conditions, [size]);
        assert_eq!(rule("cuMemAlloc:error=CUDA_ERROR_OUT_OF_MEMORY:after").result, Some(2));
        assert_eq!(rule("driver:cuMemAlloc*:error=700:when=2+").when, (2, u64::MAX, 1));
        assert_eq!(rule("cuLaunchKernel:delay_enter=10ms:when=1..9+3").when, (1, 9, 3));
        assert_eq!(rule("cuLaunchKernel:set=gridDimX=1:chance=50%").set, Some(("gridDimX".into(), 1)));
        assert_eq!(rule("cuInit:signal=SIGSTOP").signal, libc::SIGSTOP as u32);
        assert_eq!(rule("cublasSgemm_v2:error=CUBLAS_STATUS_EXECUTION_FAILED").result, Some(13));
        assert_eq!(rule("cuMemAlloc,cuMemFree:error=CUDA_ERROR_INVALID_VALUE").functions.len(), 2);
    }

    #[test]
    fn mistakes() {
        for (text, part) in [
            ("cudaMalloc", "says not what to do"),
            ("cudaMalloc:when=3", "says not what to do"),
            ("cudaMalloc:error=cudaErrorMemoryAlocation", "did you mean cudaErrorMemoryAllocation"),
            ("cudaMaloc:error=2", "cudaMalloc"),
            ("cudaMalloc:error=2:when=0", "is no number of calls"),
            ("cudaMalloc:error=2:chance=5", "is no share"),
            ("cudaMalloc:error=2:delay_enter=x", "is no time"),
            ("cudaMalloc:error", "needs a value"),
            ("cudaMalloc:after:delay_exit=1ms", "after belongs to error"),
            ("cudaMalloc[size>]:error=2", "is no condition"),
            ("cudaMalloc[size>1:error=2", "says not what to do"),
            ("cudaMalloc:signal=SIGNOTHING", "is no signal"),
            ("syscall:RM_ALLOC:error=EINVAL", "cutap syscall trace --fail"),
            ("cuda*:error=2", "returns no status"),
            ("cudaMalloc,cuMemAlloc:error=cudaErrorMemoryAllocation", "CUresult"),
        ] {
            let why = InjectRule::parse(text).map(|rule| rule.text).expect_err(text).to_string();
            assert!(why.contains(part), "{text}: {why}");
        }
    }
}
