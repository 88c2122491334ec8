//! A rule of `--inject`: `FUNCTION[CONDITION]:ACTION:ACTION…`. Actions begin at the first of their words behind a colon
//! outside of brackets. strace's words mean what they mean in strace.

use super::function_names::FunctionName;
use super::words::{Parsed, delay_by_bytes, error, parameter, refused, signal, site, tests, when, whole};
use crate::base::error::{Error, Result};
use cutap_calls::FAULTS;
use cutap_quantity::nanoseconds;
use cutap_trace::did_you_mean;
use std::fmt::Display;

/// The words of actions.
pub const WORDS: [&str; 9] =
    ["error", "retval", "signal", "delay_enter", "delay_exit", "when", "after", "chance", "set"];

/// A condition on an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentTest {
    pub parameter: String,
    pub comparison: u32,
    pub value: i64,
}

/// Bytes of an argument delay a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ByteDelay {
    pub parameter: String,
    pub bytes_a_second: u64,
    pub is_after: bool,
}

/// A rule, checked.
#[derive(Debug, Clone)]
pub struct InjectRule {
    /// `--inject`, or file and line.
    pub origin: String,
    /// As it was written.
    pub text: String,
    pub functions: Vec<FunctionName>,
    pub conditions: Vec<ArgumentTest>,
    /// Module and offset to which the call returns.
    pub site: Option<(String, u64)>,
    /// The result of the call.
    pub result: Option<u64>,
    /// The result is a fault of the GPU, which stays with the context.
    pub is_fault: bool,
    /// The call is made, and gets the result then.
    pub is_after: bool,
    /// Only functions that return a status are meant.
    pub is_of_statuses: bool,
    pub set: Option<(String, u64)>,
    pub delay_enter: u64,
    pub delay_exit: u64,
    pub byte_delay: Option<ByteDelay>,
    pub signal: u32,
    /// First, last and step.
    pub when: (u64, u64, u64),
    /// Of 2^32.
    pub chance: u64,
}

/// All calls have the chance.
pub const CERTAIN: u64 = 1 << 32;
/// A delay that lasts as long as its rule.
pub const FOR_EVER: u64 = u64::MAX;

impl InjectRule {
    /// Parses a rule, or says what is wrong with it.
    pub fn parse(text: &str) -> Result<InjectRule> {
        InjectRule::parse_from("--inject", text).map_err(|why| Error::own(format!("--inject '{text}': {why}")))
    }

    /// `--stop-at FILTER`: the thread stops before the call.
    pub fn stop_at(filter: &str) -> Result<InjectRule> {
        let text = format!("{filter}:signal=SIGSTOP");
        let rule = InjectRule::parse_from("--stop-at", &text);
        let rule = rule.map_err(|why| Error::own(format!("--stop-at '{filter}': {why}")))?;
        Ok(InjectRule { text: filter.to_owned(), ..rule })
    }

    /// Parses a rule that stands at this place.
    pub fn parse_from(origin: &str, text: &str) -> Parsed<InjectRule> {
        let (target, actions) = split(text);
        if actions.is_empty() {
            return Err(
                "it says not what to do; write it as 'cudaMalloc:error=cudaErrorMemoryAllocation:when=3'".to_owned()
            );
        }
        let mut rule = InjectRule::of_calls(origin, text, target)?;
        for action in actions {
            let (word, value) = action.split_once('=').map_or((action, None), |(word, value)| (word, Some(value)));
            rule.apply(word, value)?;
        }
        rule.check()?;
        Ok(rule)
    }

    /// A rule that does nothing yet with the calls that `target` names.
    pub fn of_calls(origin: &str, text: &str, target: &str) -> Parsed<InjectRule> {
        let (names, conditions) = match target.split_once('[') {
            Some((names, conditions)) => (names, conditions.strip_suffix(']').ok_or("a ] is missing")?),
            None => (target, ""),
        };
        let functions: Vec<FunctionName> =
            names.split(',').map(|name| FunctionName::parse(name.trim())).collect::<Parsed<_>>()?;
        let (site, conditions) = site(conditions)?;
        let conditions = tests(&conditions)?;
        conditions.iter().try_for_each(|test| has_parameter(&functions, &test.parameter))?;
        Ok(InjectRule {
            origin: origin.to_owned(),
            text: text.to_owned(),
            functions,
            conditions,
            site,
            result: None,
            is_fault: false,
            is_after: false,
            is_of_statuses: false,
            set: None,
            delay_enter: 0,
            delay_exit: 0,
            byte_delay: None,
            signal: 0,
            when: (1, u64::MAX, 1),
            chance: CERTAIN,
        })
    }

    /// Adds an action.
    pub fn apply(&mut self, word: &str, value: Option<&str>) -> Parsed<()> {
        let needed =
            || value.filter(|value| !value.is_empty()).ok_or_else(|| format!("{word} needs a value, as {word}=…"));
        match word {
            "error" => {
                let code = error(&self.functions, needed()?)?;
                self.result = Some(code);
                let has_contexts = self.functions.iter().all(FunctionName::is_of_cuda);
                self.is_fault = has_contexts && u32::try_from(code).is_ok_and(|code| FAULTS.contains(&code));
            }
            "retval" => {
                let value = needed()?;
                self.result = Some(whole(value).ok_or_else(|| refused(value, "number", "0"))? as u64);
            }
            "after" => match value {
                None | Some("true") => self.is_after = true,
                Some(value) => return Err(format!("after has no value, and {value} is one; leave it out")),
            },
            "signal" => self.signal = signal(needed()?)?,
            "delay_enter" | "delay_exit" => self.delay(needed()?, word == "delay_exit")?,
            "when" => self.when = when(needed()?)?,
            "chance" => {
                let value = needed()?;
                let share = value.strip_suffix('%').and_then(|digits| digits.trim().parse::<f64>().ok());
                let share = share.filter(|share| (0.0..=100.0).contains(share));
                self.chance = (share.ok_or_else(|| refused(value, "share", "1%"))? / 100.0 * CERTAIN as f64) as u64;
            }
            "set" => {
                let value = needed()?;
                let pair = value.split_once('=').and_then(|(name, value)| Some((name.trim(), whole(value.trim())?)));
                let (name, value) = pair.ok_or_else(|| refused(value, "parameter with a number", "bytesize=4096"))?;
                has_parameter(&self.functions, name)?;
                self.set = Some((parameter(name)?, value as u64));
            }
            _ => {
                let near = did_you_mean(word, WORDS);
                let near = if near.is_empty() { WORDS.to_vec() } else { near };
                return Err(format!("there is no action {word}; there is {}", near.join(", ")));
            }
        }
        Ok(())
    }

    /// `10ms`, `forever`, `bytesize/1GiB`, `10us+bytesize/1GiB`.
    fn delay(&mut self, text: &str, is_after: bool) -> Parsed<()> {
        let wrong = || refused(text, "time", "10ms, forever or ByteCount/1GiB (bytes a second)");
        let mut time = 0;
        for part in text.split('+').map(str::trim) {
            if part == "forever" {
                time = FOR_EVER;
            } else if let Some(by_bytes) = delay_by_bytes(part) {
                let (name, bytes_a_second) = by_bytes?;
                has_parameter(&self.functions, &name)?;
                if self.byte_delay.is_some() {
                    return Err("only one delay by bytes is possible in a rule; make another rule".to_owned());
                }
                self.byte_delay = Some(ByteDelay { parameter: name, bytes_a_second, is_after });
            } else {
                time = nanoseconds(part).ok_or_else(wrong)?;
            }
        }
        *(if is_after { &mut self.delay_exit } else { &mut self.delay_enter }) = time;
        Ok(())
    }

    /// What is wrong with the whole.
    pub fn check(&self) -> Parsed<()> {
        if self.result.is_none() && self.is_after {
            return Err("after belongs to error and retval; give one of them".to_owned());
        }
        let acts = self.result.is_some() || self.set.is_some() || self.signal != 0 || self.byte_delay.is_some();
        if !acts && self.delay_enter == 0 && self.delay_exit == 0 {
            return Err("it says not what to do; give error, retval, set, signal, delay_enter or delay_exit".to_owned());
        }
        Ok(())
    }
}

/// Some function of these has such a parameter, or nothing is known of their parameters.
fn has_parameter(functions: &[FunctionName], name: &str) -> Parsed<()> {
    let mut all: Vec<&'static str> = functions.iter().flat_map(FunctionName::parameters).collect();
    all.sort_unstable();
    all.dedup();
    if all.is_empty() || all.contains(&name) {
        return Ok(());
    }
    let near = did_you_mean(name, all.iter().copied());
    let of = functions.iter().map(|function| function.pattern.as_str()).collect::<Vec<_>>().join(", ");
    Err(match near.is_empty() {
        true => format!("{of} has no parameter {name}; it has {}", shortened(&all)),
        false => format!("{of} has no parameter {name}; did you mean {}?", near.join(", ")),
    })
}

fn shortened(names: &[&str]) -> String {
    const MOST: usize = 12;
    let more = if names.len() > MOST { " and others" } else { "" };
    format!("{}{more}", names.get(..names.len().min(MOST)).unwrap_or_default().join(", "))
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

impl Display for InjectRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} '{}'", self.origin, self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutap_wire::injected::comparison;

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
        let slow = rule("cuMemcpyHtoD:delay_exit=10us+ByteCount/1GiB");
        let delay = ByteDelay { parameter: "ByteCount".into(), bytes_a_second: 1 << 30, is_after: true };
        assert_eq!((slow.delay_exit, slow.byte_delay), (10_000, Some(delay)));
        assert_eq!(rule("ncclAllReduce:delay_enter=forever").delay_enter, FOR_EVER);
        let site = rule("cudaMalloc[site=libapp.so+0x1f & size>4]:error=2");
        assert_eq!((site.site, site.conditions.len()), (Some(("libapp.so".into(), 0x1f)), 1));
        assert!(rule("cuLaunchKernel:error=719").is_fault && !rule("cuLaunchKernel:retval=719").is_fault);
        assert_eq!(InjectRule::stop_at("cuMemAlloc[bytesize>1]").expect("a rule").signal, libc::SIGSTOP as u32);
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
            ("cudaMalloc[siz>1]:error=2", "did you mean size"),
            ("cudaMalloc[site=0x12]:error=2", "is no call site"),
            ("cuMemcpyHtoD:delay_exit=ByteCount/fast", "is no number of bytes a second"),
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
