//! The rules text of the control page, as the library in the target applies it: once for each slot,
//! not once for each call. One rule a line: `+` or `-`, a layer letter (`l` library, `r` runtime,
//! `d` driver, `*` any), space, library pattern, space, name pattern.
//!
//! A function is wanted when there is no `+` rule or one of them matches, and no `-` rule matches. The
//! text is written by us; a line that is not a rule is passed over, for nobody could be told of it here.

use crate::glob;

/// Whether calls of function `name` of `library` (its SONAME) are wanted. `layer` is one of
/// `cutap_wire::names::layer`.
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

/// Whether anything of a layer can be wanted: false only when the rules leave it out whole.
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
        let layer = match letter {
            b'*' => 0,
            b'l' => 1,
            b'r' => 2,
            b'd' => 3,
            _ => return None,
        };
        Some(Self { plus, layer, library, name })
    }

    fn matches(&self, layer: u8, library: &[u8], name: &[u8]) -> bool {
        (self.layer == 0 || self.layer == layer) && glob(self.name, name) && glob(self.library, library)
    }
}

#[cfg(test)]
mod tests {
    use super::wanted;

    const LIBRARY: u8 = 1;
    const RUNTIME: u8 = 2;
    const DRIVER: u8 = 3;

    #[test]
    fn no_rule_wants_all() {
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
    fn minus_alone_takes_away() {
        let rules = b"-l libcudnn* *\n";
        assert!(!wanted(rules, LIBRARY, b"libcudnn_ops.so.9", b"cudnnCreate"));
        assert!(wanted(rules, LIBRARY, b"libcublas.so.13", b"cublasCreate_v2"));
        assert!(wanted(rules, DRIVER, b"libcudnn_ops.so.9", b"cudnnCreate"));
    }

    #[test]
    fn lines_that_are_no_rules() {
        assert!(wanted(b"hello\n+\n+x * *\n+d *\n!d * *", DRIVER, b"libcuda.so.1", b"cuInit"));
    }
}
