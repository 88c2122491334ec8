//! Mangled names as people know them. A traced program chooses its names, so what a name becomes is bounded: a few
//! bytes of substitutions can stand for megabytes, or take years to parse (`patient.rs`). A name that exceeds a bound
//! stays mangled. No other file calls a demangler.

use crate::patient;
use cpp_demangle::{DemangleNodeType, DemangleOptions, DemangleWrite, Symbol};
use std::borrow::Cow;
use std::fmt::{self, Write};
use std::sync::Arc;

/// The longest mangled name that is demangled: the time of the demangler grows faster than the name.
const LONGEST: usize = 16 * 1024;
/// A shorter name has so few alternatives that the parser ends soon, whatever it is.
const SHORT: usize = 40;
/// A short name may become this long.
const SHORTEST_BOUND: usize = 4 * 1024;
/// How many times as long as the mangled name the result may be: `Ss` becomes 71 characters.
const GROWTH: usize = 40;
/// No result is longer.
const LONGEST_BOUND: usize = 128 * 1024;

/// The signature of a C++ function; none if the name is not mangled, or would be too long.
pub fn signature(mangled: &str) -> Option<String> {
    cpp(mangled, DemangleOptions::new())
}

/// The function of a frame: without parameters, without the version of the symbol.
pub fn function(name: &str) -> Arc<str> {
    let plain = name.split('@').next().unwrap_or(name);
    let options = || DemangleOptions::new().no_params().no_return_type();
    let demangled = rust(name).or_else(|| cpp(plain, options())).map_or(Cow::Borrowed(plain), Cow::Owned);
    // A name goes to a terminal and must not be obeyed.
    cutap_printable::printable(&demangled).into()
}

/// The class that a name of type information is of, without the namespaces of PyTorch's autograd.
pub fn class(name: &str) -> Arc<str> {
    let name = name.trim_start_matches('*');
    let whole = plain_class(name).or_else(|| cpp(&format!("_ZTS{name}"), DemangleOptions::new()));
    let class = whole.as_deref().map_or(name, |text| text.strip_prefix("typeinfo name for ").unwrap_or(text));
    let own = ["torch::autograd::generated::", "torch::autograd::"].iter().find_map(|space| class.strip_prefix(space));
    cutap_printable::printable(own.unwrap_or(class)).into()
}

/// A class in namespaces that is no template, as most are: `N1a1bE` is `a::b`.
fn plain_class(name: &str) -> Option<String> {
    let mut rest = name.strip_prefix('N')?.strip_suffix('E')?;
    let mut parts = Vec::new();
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let length: usize = rest.get(..digits)?.parse().ok()?;
        parts.push(rest.get(digits..digits + length)?);
        rest = &rest[digits + length..];
    }
    Some(parts.join("::"))
}

fn rust(mangled: &str) -> Option<String> {
    if mangled.len() > LONGEST {
        return None;
    }
    let name = rustc_demangle::try_demangle(mangled).ok()?;
    let mut text = Bounded::of(mangled);
    write!(text, "{name:#}").ok()?;
    Some(text.text)
}

fn cpp(mangled: &str, options: DemangleOptions) -> Option<String> {
    if !mangled.starts_with("_Z") || mangled.len() > LONGEST {
        return None;
    }
    if mangled.len() <= SHORT {
        return demangled(mangled, &options);
    }
    let name = mangled.to_owned();
    patient::within_limit(move || demangled(&name, &options))?
}

fn demangled(mangled: &str, options: &DemangleOptions) -> Option<String> {
    let symbol = Symbol::new(mangled).ok()?;
    let mut text = Steps(Bounded::of(mangled));
    symbol.structured_demangle(&mut text, options).ok()?;
    Some(text.0.text)
}

/// Text that refuses to become longer than its bound. Each write counts, also an empty one, so the bound holds for the
/// work of the demangler too.
struct Bounded {
    text: String,
    remaining: usize,
}

impl Bounded {
    fn of(mangled: &str) -> Bounded {
        let bound = (mangled.len() * GROWTH).clamp(SHORTEST_BOUND, LONGEST_BOUND);
        Bounded { text: String::new(), remaining: bound }
    }

    fn spend(&mut self, bytes: usize) -> fmt::Result {
        self.remaining = self.remaining.checked_sub(bytes.max(1)).ok_or(fmt::Error)?;
        Ok(())
    }
}

impl Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.spend(text.len())?;
        self.text.push_str(text);
        Ok(())
    }
}

/// For a demangler that also reports parts which write nothing.
struct Steps(Bounded);

impl DemangleWrite for Steps {
    fn push_demangle_node(&mut self, _: DemangleNodeType) {
        // The next write fails if this was the last step.
        self.0.remaining = self.0.remaining.saturating_sub(1);
    }

    fn write_string(&mut self, text: &str) -> fmt::Result {
        self.0.write_str(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes() {
        assert_eq!(&*class("N5torch8autograd9generated11MmBackward0E"), "MmBackward0");
        assert_eq!(&*class("*N5torch8autograd14AccumulateGradE"), "AccumulateGrad");
        assert_eq!(&*class("N2my8FunctionE"), "my::Function");
        assert_eq!(&*class("N5torch8autograd7CppNodeI4MineEE"), "CppNode<Mine>");
        assert_eq!(&*class("N9overlongE"), "N9overlongE");
    }

    #[test]
    fn names() {
        assert_eq!(&*function("_ZN3foo3barEi"), "foo::bar");
        assert_eq!(&*function("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE"), "core::fmt::Write::write_fmt");
        assert_eq!(&*function("memcpy@@GLIBC_2.14"), "memcpy");
        assert_eq!(&*function("main\u{1b}[31m"), "main\\u{1b}[31m");
        assert_eq!(signature("_ZN3foo3barEi").as_deref(), Some("foo::bar(int)"));
        assert_eq!(signature("saxpy"), None);
        assert_eq!(signature("_Z"), None);
        assert_eq!(signature(&format!("_Z{}", "N".repeat(100_000))), None);
    }

    /// Each of twenty types has the type before it twice.
    fn doubling() -> String {
        let id = |n: usize| char::from_digit(n as u32, 36).unwrap().to_ascii_uppercase();
        let types = (0..20).map(|n| if n == 0 { "S0_".to_owned() } else { format!("S{}_", id(n)) });
        types.fold("St4pairIiiE".to_owned(), |all, one| format!("{all}S_I{one}{one}E"))
    }

    #[test]
    fn short_names_of_megabytes_stay_mangled() {
        let kernel = format!("_Z4k000{}", doubling());
        assert!(kernel.len() < 230, "{}", kernel.len());
        assert_eq!(signature(&kernel), None);
        // As the name of a template, whose parameters a frame shows too.
        let frame = format!("_Z1fI{}EvT_", doubling());
        assert_eq!(&*function(&frame), &*frame);
        assert_eq!(signature(&frame), None);
        let small = function(&tuples(2));
        assert_eq!(
            &*small,
            "a::f::<((u32, u32, u32, u32), (u32, u32, u32, u32), (u32, u32, u32, u32), (u32, u32, u32, u32))>"
        );
        let large = tuples(12);
        assert_eq!(&*function(&large), &*large);
    }

    /// A Rust name: tuples in each other, each of which has its first element four times.
    fn tuples(depth: u32) -> String {
        let digit = |n: u32| char::from_digit(n, 36).unwrap();
        let start = "_RINvC1a1f";
        let first = u32::try_from(start.len()).unwrap() - 2;
        let mut name = format!("{start}{}m", "T".repeat(depth as usize));
        for at in (0..depth).rev() {
            // A place is written in base 62, less one.
            let back = format!("B{}_", digit(first + at));
            name.push_str(&format!("{}E", back.repeat(3)));
        }
        name + "E"
    }

    /// Each level has two alternatives that fail: the parser would try for years (cpp_demangle's issue 215).
    #[test]
    fn names_that_are_tried_again_and_again() {
        for (start, level) in [("_Z1fIX", "nw"), ("_Z1fIX", "dl")] {
            let name = format!("{start}{}", level.repeat(45));
            assert_eq!(signature(&name), None);
            assert_eq!(&*function(&name), &*name);
        }
        assert_eq!(signature("_ZN3foo3barEi").as_deref(), Some("foo::bar(int)"));
    }

    /// A name of a library for linear algebra: two kilobytes of templates, in which much is repeated.
    #[test]
    fn long_names_of_libraries_are_demangled() {
        let layout = "N4cute6LayoutINS_5tupleIJNS_1CILi128EEENS2_ILi64EEEEEENS1_IJS4_NS2_ILi1EEEEEEEE";
        let name = format!("_Z6kernelI{}EvT_T0_T1_T2_", layout.repeat(4));
        let text = signature(&name).unwrap();
        assert!(text.starts_with("void kernel<cute::Layout<"), "{text}");
    }
}
