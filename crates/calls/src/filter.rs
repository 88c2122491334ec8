//! Applies the rules text of the control page. The target evaluates it once per slot, not once per call.
//!
//! Each line is one rule: `+` or `-`, a layer letter (`l` library, `r` runtime, `d` driver, `*` any), a space, a
//! library pattern, a space and a name pattern. A function is wanted if no `-` rule matches and either a `+` rule
//! matches or there is none. Only cutap writes this text; a malformed line is ignored, since the target cannot
//! report it.
//!
//! A rule that begins with `~` and a layer letter records further functions of that layer: those on which annotations
//! of addresses depend ([`tells_of_memory`]). Readers do not show their calls.

use crate::{glob, tells_of_memory};

/// Whether calls of function `name` of `library` (its SONAME) are wanted. `layer` is one of
/// a `cutap_calls::Layer`.
pub fn wanted(rules: &[u8], layer: u8, library: &[u8], name: &[u8]) -> bool {
    let (mut any_plus, mut plus) = (false, false);
    for line in rules.split(|b| *b == b'\n') {
        let Some(rule) = Rule::parse(line) else { continue };
        let matches = rule.matches(layer, library, name);
        if rule.plus {
            any_plus = true;
            plus |= matches;
        } else if matches {
            return false;
        }
    }
    plus || !any_plus
}

/// The rules by which functions are recorded for annotations only, in toolkit libraries and in the driver.
pub const TRACKED: &str = "~l * *\n~d * *\n";

/// Whether calls of a function are to be recorded: they are wanted, or annotations depend on them.
pub fn recorded(rules: &[u8], layer: u8, library: &[u8], name: &[u8]) -> bool {
    wanted(rules, layer, library, name) || tracked(rules, layer, name)
}

fn tracked(rules: &[u8], layer: u8, name: &[u8]) -> bool {
    let fits = |line: &[u8]| matches!(line, [b'~', letter, b' ', ..] if layer_of(*letter).is_some_and(|l| l == 0 || l == layer));
    rules.split(|b| *b == b'\n').any(fits) && core::str::from_utf8(name).is_ok_and(tells_of_memory)
}

/// Whether any function of a layer can be wanted; false only if the rules exclude the whole layer.
pub fn wants_layer(rules: &[u8], layer: u8) -> bool {
    let (mut any_plus, mut plus) = (false, false);
    for line in rules.split(|b| *b == b'\n') {
        let Some(rule) = Rule::parse(line) else { continue };
        let here = rule.layer == 0 || rule.layer == layer;
        any_plus |= rule.plus;
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

    fn matches(&self, layer: u8, library: &[u8], name: &[u8]) -> bool {
        (self.layer == 0 || self.layer == layer) && glob(self.name, name) && glob(self.library, library)
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
    use super::{TRACKED, recorded, wanted};

    const LIBRARY: u8 = 1;
    const RUNTIME: u8 = 2;
    const DRIVER: u8 = 3;

    #[test]
    fn no_rules() {
        assert!(wanted(b"", DRIVER, b"libcuda.so.1", b"cuInit"));
        assert!(wanted(b"\n\n", DRIVER, b"libcuda.so.1", b"cuInit"));
    }

    #[test]
    fn plus_and_minus() {
        let rules = b"+d * cuMem*\n+r * *\n-* * *Async\n";
        assert!(wanted(rules, DRIVER, b"libcuda.so.1", b"cuMemAlloc_v2"));
        assert!(!wanted(rules, DRIVER, b"libcuda.so.1", b"cuInit"));
        assert!(wanted(rules, RUNTIME, b"saxpy", b"cudaMalloc"));
        assert!(!wanted(rules, RUNTIME, b"saxpy", b"cudaMemcpyAsync"));
        assert!(!wanted(rules, LIBRARY, b"libcublas.so.13", b"cublasCreate_v2"));
    }

    #[test]
    fn minus_without_plus() {
        let rules = b"-l libcudnn* *\n";
        assert!(!wanted(rules, LIBRARY, b"libcudnn_ops.so.9", b"cudnnCreate"));
        assert!(wanted(rules, LIBRARY, b"libcublas.so.13", b"cublasCreate_v2"));
        assert!(wanted(rules, DRIVER, b"libcudnn_ops.so.9", b"cudnnCreate"));
    }

    #[test]
    fn what_annotations_depend_on_is_recorded_and_not_wanted() {
        for rules in ["+* * cudaMalloc\n", "-* * cuMem*\n+r * *\n"] {
            let rules = [rules.as_bytes(), TRACKED.as_bytes()].concat();
            assert!(!wanted(&rules, DRIVER, b"libcuda.so.1", b"cuMemFree_v2"));
            assert!(recorded(&rules, DRIVER, b"libcuda.so.1", b"cuMemFree_v2"));
            assert!(recorded(&rules, LIBRARY, b"libnccl.so.2", b"ncclMemFree"));
            assert!(!recorded(&rules, DRIVER, b"libcuda.so.1", b"cuLaunchKernel"));
            assert!(!recorded(&rules, RUNTIME, b"saxpy", b"cuMemFree_v2"));
        }
        assert!(!recorded(b"+* * cudaMalloc\n", DRIVER, b"libcuda.so.1", b"cuMemFree_v2"));
    }

    #[test]
    fn malformed_lines() {
        assert!(wanted(b"hello\n+\n+x * *\n+d *\n!d * *", DRIVER, b"libcuda.so.1", b"cuInit"));
    }
}
