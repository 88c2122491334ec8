//! Applies the rules text of the control page. The target evaluates it once per slot, not once per call.
//!
//! Each line is one rule: `+` or `-`, a layer letter (`l` library, `r` runtime, `d` driver, `*` any), a space, a
//! library pattern, a space and a name pattern. A function is wanted if no `-` rule matches and either a `+` rule
//! matches or there is none. Only cutap writes this text; a malformed line is ignored, since the target cannot
//! report it.
//!
//! A layer that must be asked for (`opt_in` in `api/layers.toml`) is recorded only where a `+` rule has its letter
//! ([`armed`]). A rule for all of it adds the layer and takes nothing from the others. A rule for some of its functions
//! wants those, as any other rule does. A reader shows all that was recorded ([`is_shown`]).
//!
//! A rule that begins with `~` and a layer letter records further functions of that layer: those on which later calls
//! depend ([`keeps_state`]). With the name pattern [`WORK`] these are the functions that submit work or order it, which a
//! run with GPU time needs to find the calls of rows. Readers do not show their calls.
//!
//! The name pattern [`CHATTER`] stands for a class of functions ([`is_chatter`]).

use crate::generated::gpu_time::DRIVER_FUNCTIONS;
use crate::{Role, glob, has_role, is_chatter, keeps_state};

/// As the name pattern of a rule: the functions of this class. No name and no pattern of a user begins with `~`.
pub const CHATTER: &str = "~chatter";

/// Whether a reader shows calls of function `name` of `library` (its SONAME). `layer` is the number of a `Layer`.
pub fn is_shown(rules: &[u8], layer: u8, library: &[u8], name: &[u8]) -> bool {
    decide(rules, layer, library, name, false)
}

/// Whether the target records calls of the function because they are wanted.
pub fn armed(rules: &[u8], layer: u8, library: &[u8], name: &[u8]) -> bool {
    decide(rules, layer, library, name, is_asked(layer))
}

fn is_asked(layer: u8) -> bool {
    crate::Layer::of_number(layer).is_some_and(crate::Layer::is_asked)
}

/// With `own`, only a `+` rule with the letter of the layer includes the function.
fn decide(rules: &[u8], layer: u8, library: &[u8], name: &[u8], own: bool) -> bool {
    let (mut any_plus, mut plus) = (own, false);
    for line in rules.split(|b| *b == b'\n') {
        let Some(rule) = Rule::parse(line) else { continue };
        let matches = rule.matches(layer, library, name);
        if rule.plus {
            any_plus |= own || rule.layer == layer || !rule.adds_layer();
            plus |= matches && (!own || rule.layer == layer);
        } else if matches {
            return false;
        }
    }
    plus || !any_plus
}

/// The rules by which functions are recorded only because later calls depend on them, in toolkit libraries and in the
/// driver.
pub const TRACKED: &str = "~l * *\n~d * *\n";

/// As the name pattern of a rule that begins with `~`: functions of the driver that submit work, and those that decide
/// which work is in a capture.
pub const WORK: &str = "~work";

/// The rule for that.
pub const TRACKED_WORK: &str = "~d * ~work\n";

fn submits_or_orders(name: &str) -> bool {
    let has = |role| has_role(name.as_bytes(), role);
    DRIVER_FUNCTIONS.iter().any(|function| function.name == name)
        || [Role::MakesNodeInCapture, Role::RecordsEvent, Role::WaitsForEvent].into_iter().any(has)
}

/// Whether calls of a function are to be recorded: they are wanted, or later calls depend on them.
pub fn recorded(rules: &[u8], layer: u8, library: &[u8], name: &[u8]) -> bool {
    armed(rules, layer, library, name) || tracked(rules, layer, name)
}

fn tracked(rules: &[u8], layer: u8, name: &[u8]) -> bool {
    let Ok(name) = core::str::from_utf8(name) else { return false };
    let is_of_layer = |letter| layer_of(letter).is_some_and(|l| l == 0 || l == layer);
    rules.split(|b| *b == b'\n').any(|line| match line {
        [b'~', letter, b' ', ..] if is_of_layer(*letter) => match line.ends_with(WORK.as_bytes()) {
            true => submits_or_orders(name),
            false => keeps_state(name),
        },
        _ => false,
    })
}

/// Whether the target may record any function of a layer; false only if the rules exclude the whole layer.
pub fn wants_layer(rules: &[u8], layer: u8) -> bool {
    let own = is_asked(layer);
    let (mut any_plus, mut plus) = (own, false);
    for line in rules.split(|b| *b == b'\n') {
        let Some(rule) = Rule::parse(line) else { continue };
        let here = rule.layer == layer || rule.layer == 0 && !(own && rule.plus);
        any_plus |= rule.plus && (rule.layer == layer || !rule.adds_layer());
        plus |= rule.plus && here;
        if !rule.plus && here && rule.library == b"*" && rule.name == b"*" {
            return false;
        }
    }
    plus || !any_plus
}

struct Rule<'a> {
    plus: bool,
    layer: u8,
    library: &'a [u8],
    name: &'a [u8],
}

impl<'a> Rule<'a> {
    fn parse(line: &'a [u8]) -> Option<Self> {
        let mut words = line.splitn(3, |b| *b == b' ');
        let (sign, library, name) = (words.next()?, words.next()?, words.next()?);
        let [sign, letter] = sign else { return None };
        let plus = match sign {
            b'+' => true,
            b'-' => false,
            _ => return None,
        };
        Some(Self { plus, layer: layer_of(*letter)?, library, name })
    }

    /// It asks for a layer beside the others.
    fn adds_layer(&self) -> bool {
        is_asked(self.layer) && self.library == b"*" && self.name == b"*"
    }

    fn matches(&self, layer: u8, library: &[u8], name: &[u8]) -> bool {
        (self.layer == 0 || self.layer == layer) && self.matches_name(name) && glob(self.library, library)
    }

    fn matches_name(&self, name: &[u8]) -> bool {
        match self.name == CHATTER.as_bytes() {
            true => core::str::from_utf8(name).is_ok_and(is_chatter),
            false => glob(self.name, name),
        }
    }
}

/// The layer that a letter stands for; 0: any.
fn layer_of(letter: u8) -> Option<u8> {
    match letter {
        b'*' => Some(0),
        letter => crate::Layer::of_letter(letter).map(crate::Layer::number),
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::{TRACKED, TRACKED_WORK, armed, is_shown, recorded, wants_layer};

    const LIBRARY: u8 = 1;
    const RUNTIME: u8 = 2;
    const DRIVER: u8 = 3;

    #[test]
    fn no_rules() {
        assert!(armed(b"", DRIVER, b"libcuda.so.1", b"cuInit"));
        assert!(armed(b"\n\n", DRIVER, b"libcuda.so.1", b"cuInit"));
    }

    #[test]
    fn plus_and_minus() {
        let rules = b"+d * cuMem*\n+r * *\n-* * *Async\n";
        assert!(armed(rules, DRIVER, b"libcuda.so.1", b"cuMemAlloc_v2"));
        assert!(!armed(rules, DRIVER, b"libcuda.so.1", b"cuInit"));
        assert!(armed(rules, RUNTIME, b"saxpy", b"cudaMalloc"));
        assert!(!armed(rules, RUNTIME, b"saxpy", b"cudaMemcpyAsync"));
        assert!(!armed(rules, LIBRARY, b"libcublas.so.13", b"cublasCreate_v2"));
    }

    #[test]
    fn minus_without_plus() {
        let rules = b"-l libcudnn* *\n";
        assert!(!armed(rules, LIBRARY, b"libcudnn_ops.so.9", b"cudnnCreate"));
        assert!(armed(rules, LIBRARY, b"libcublas.so.13", b"cublasCreate_v2"));
        assert!(armed(rules, DRIVER, b"libcudnn_ops.so.9", b"cudnnCreate"));
    }

    #[test]
    fn a_class_of_names() {
        let rules = b"-* * ~chatter\n";
        assert!(!armed(rules, RUNTIME, b"saxpy", b"cudaGetDevice"));
        assert!(!armed(rules, DRIVER, b"libcuda.so.1", b"cuCtxGetDevice_v2"));
        assert!(armed(rules, DRIVER, b"libcuda.so.1", b"cuCtxSetCurrent") && wants_layer(rules, DRIVER));
        let rules = b"+r * ~chatter\n";
        assert!(armed(rules, RUNTIME, b"saxpy", b"cudaGetDevice"));
        assert!(!armed(rules, RUNTIME, b"saxpy", b"cudaMalloc"));
        assert!(!armed(rules, DRIVER, b"libcuda.so.1", b"cuCtxGetCurrent"));
    }

    #[test]
    fn what_later_calls_depend_on_is_recorded_and_not_wanted() {
        for rules in ["+* * cudaMalloc\n", "-* * cuMem*\n+r * *\n"] {
            let rules = [rules.as_bytes(), TRACKED.as_bytes()].concat();
            assert!(!armed(&rules, DRIVER, b"libcuda.so.1", b"cuMemFree_v2"));
            assert!(recorded(&rules, DRIVER, b"libcuda.so.1", b"cuMemFree_v2"));
            assert!(recorded(&rules, LIBRARY, b"libnccl.so.2", b"ncclMemFree"));
            assert!(recorded(&rules, DRIVER, b"libcuda.so.1", b"cuStreamBeginCapture_v2"));
            assert!(!recorded(&rules, DRIVER, b"libcuda.so.1", b"cuLaunchKernel"));
            assert!(!recorded(&rules, RUNTIME, b"saxpy", b"cuMemFree_v2"));
        }
        assert!(!recorded(b"+* * cudaMalloc\n", DRIVER, b"libcuda.so.1", b"cuMemFree_v2"));
        let rules = [b"-* * cuLaunch*\n", TRACKED.as_bytes(), TRACKED_WORK.as_bytes()].concat();
        for name in ["cuLaunchKernel", "cuMemsetD8Async", "cuMemAllocAsync", "cuEventRecord"] {
            assert!(recorded(&rules, DRIVER, b"libcuda.so.1", name.as_bytes()), "{name}");
        }
        assert!(!armed(&rules, DRIVER, b"libcuda.so.1", b"cuLaunchKernel"));
        assert!(!recorded(b"+* * cuInit\n~d * ~work\n", DRIVER, b"libcuda.so.1", b"cuCtxGetCurrent"));
    }

    #[test]
    fn a_layer_that_must_be_asked_for() {
        const HIDDEN: u8 = 4;
        let is = |rules: &[u8], name: &[u8]| armed(rules, HIDDEN, b"libcuda.so.1", name);
        for rules in [&b""[..], b"+* * *\n", b"+d * *\n", b"-r * *\n", b"+h * *\n-* * *\n", b"-* * *\n"] {
            assert!(!is(rules, b"21318c60[51]") && !wants_layer(rules, HIDDEN), "{rules:?}");
        }
        assert!(is_shown(b"", HIDDEN, b"libcuda.so.1", b"21318c60[51]"));
        assert!(is(b"+h * *\n+d * *\n", b"21318c60[51]") && wants_layer(b"+h * *\n", HIDDEN));
        assert!(is(b"+* * *\n+h * 21318c60[51]\n", b"21318c60[51]"));
        assert!(!is(b"+* * *\n+h * 21318c60[51]\n", b"21318c60[5]"));
        assert!(!is(b"+h * *\n-* * 21318c60[*]\n", b"21318c60[51]"));
    }

    #[test]
    fn a_layer_that_must_be_asked_for_is_added() {
        let kernel = crate::Layer::SYSCALL.number();
        let of = |rules: &str, layer| armed(rules.as_bytes(), layer, b"libc.so.6", b"ioctl");
        assert!(!of("", kernel) && is_shown(b"", kernel, b"libc.so.6", b"ioctl"));
        assert!(of("+k * *\n", kernel) && of("+k * *\n", DRIVER) && wants_layer(b"+k * *\n", LIBRARY));
        assert!(of("+k * *\n+d * *\n", DRIVER) && !of("+k * *\n+d * *\n", RUNTIME));
        assert!(!of("+* * ioctl\n", kernel) && !wants_layer(b"+* * ioctl\n", kernel));
        assert!(!of("+k * *\n-* * ioctl\n", kernel) && !of("+k * open\n", kernel));
        assert!(of("+k * *\n-d * *\n-r * *\n-l * *\n", kernel));
    }

    #[test]
    fn functions_of_such_a_layer_are_not_added() {
        let kernel = crate::Layer::SYSCALL.number();
        let rules = b"+k * ioctl\n";
        assert!(armed(rules, kernel, b"libc.so.6", b"ioctl") && !armed(rules, kernel, b"libc.so.6", b"open"));
        assert!(!armed(rules, DRIVER, b"libcuda.so.1", b"cuInit") && !wants_layer(rules, DRIVER));
        assert!(!is_shown(rules, RUNTIME, b"saxpy", b"cudaMalloc"));
        let both = b"+k * ioctl\n+d * *\n";
        assert!(armed(both, DRIVER, b"libcuda.so.1", b"cuInit") && !armed(both, RUNTIME, b"saxpy", b"cudaMalloc"));
        let all = b"+k * ioctl\n+* * *\n";
        assert!(armed(all, DRIVER, b"libcuda.so.1", b"cuInit") && armed(all, RUNTIME, b"saxpy", b"cudaMalloc"));
    }

    #[test]
    fn malformed_lines() {
        assert!(armed(b"hello\n+\n+x * *\n+d *\n!d * *", DRIVER, b"libcuda.so.1", b"cuInit"));
    }
}
