//! One term of a filter. An unknown plain name is refused: a trace that stays empty because of a typing mistake costs
//! more than a question.

use super::condition::{Condition, Criterion, duration};
use super::foreign_syntax::advice;
use super::library::{self, files};
use super::owners::Owner;
use super::parse::Filter;
use super::range_term;
use super::refusal::{FilterError, nearest};
use cutap_calls::{FUNCTIONS, Layer, filter, is_of_cuda};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Words that are no names of functions, except the names of layers.
const WORDS: [&str; 4] = ["lookup", "cxx", "error", CHATTER];

/// A class of functions as a name.
const CHATTER: &str = "chatter";

/// The words of `WORDS` and the names of layers that are similar.
fn similar_words(word: &str) -> Vec<&'static str> {
    let words: Vec<&str> = Layer::all().map(Layer::name).chain(WORDS).collect();
    nearest(word, &words)
}

impl Filter {
    /// Takes one term. True when it picks no functions.
    pub(super) fn term(&mut self, is_wanted: bool, word: &str, exported: &[&str]) -> Result<bool, FilterError> {
        match word {
            "" => {
                return Err(FilterError(
                    "a term of the filter is empty; write terms with one comma between them".into(),
                ));
            }
            _ if let Some(name) = hidden_name(word)? => self.rule(is_wanted, 'h', "*", name),
            "lookup" => {
                self.lookups = is_wanted;
                return Ok(true);
            }
            "cxx" => self.cxx = is_wanted,
            "error" => self.conditions.push(Condition { is_wanted, criterion: Criterion::Error }),
            _ if word.starts_with(['>', '<']) => {
                self.conditions.push(Condition { is_wanted, criterion: duration(word)? });
            }
            _ if let Some(owner) = Owner::parse(word) => self.owners.add(is_wanted, owner?),
            _ if exported.contains(&word) && Layer::of_name(word).is_none() => {
                self.names(word, exported)?.iter().for_each(|name| {
                    self.rule(is_wanted, '*', "*", name);
                })
            }
            _ if word.bytes().any(|b| !b.is_ascii_alphanumeric() && !b"_*?.-+:".contains(&b)) => {
                return Err(FilterError(match advice(word) {
                    Some(advice) => format!("{word} in the filter is no name; {advice} (cutap help filters)"),
                    None => format!(
                        "{word:?} in the filter is no name; names have letters, digits, _ and *, with commas between \
                         them"
                    ),
                }));
            }
            _ if let Some(layer) = Layer::of_name(word) => self.rule(is_wanted, layer.letter(), "*", "*"),
            _ if let Some(name) = word.strip_prefix("syscall:") => self.of_kernel(is_wanted, name)?,
            _ if !word.contains(['*', '?']) && library::is_of_kernel(word) => self.of_kernel(is_wanted, word)?,
            _ if word.contains(':') => self.of_library(is_wanted, word, exported)?,
            _ if word.contains(".so") || is_library(word) => {
                is_no_slip(word)?;
                files(word).iter().for_each(|library| self.rule(is_wanted, '*', library, "*"));
            }
            _ if let Some(of) = library::named(word) => {
                of.patterns.iter().for_each(|library| self.rule(is_wanted, of.layer.letter(), library, "*"));
            }
            _ => self.names(word, exported)?.iter().for_each(|name| self.rule(is_wanted, '*', "*", name)),
        }
        Ok(false)
    }

    /// Takes a term `nvtx:NAME`.
    pub(super) fn ranges(&mut self, is_wanted: bool, name: &str) -> Result<(), FilterError> {
        let rules = range_term::rules_of(is_wanted, name)?;
        self.rules.push_str(&rules);
        self.plain.push_str(&rules);
        Ok(())
    }

    /// Parses for a run that has ranges of these names: plain names may mean them.
    pub fn parse_of_run(text: &str, ranges: &[&str]) -> Result<Filter, FilterError> {
        let names: Vec<&str> = FUNCTIONS.iter().copied().chain(ranges.iter().copied()).collect();
        Filter::parse_with(text, &names)?.checked()
    }

    /// `kernel:name`: a function of libc by which a library reaches the kernel.
    fn of_kernel(&mut self, is_wanted: bool, name: &str) -> Result<(), FilterError> {
        if name.is_empty() || !library::is_of_kernel(name) {
            let near = library::near_kernel(name).join(", ");
            return Err(FilterError(format!(
                "the syscall layer has no function {name}; it has ioctl, open, close, dup, mmap, munmap, getenv and forms \
                 of them{}",
                if near.is_empty() { String::new() } else { format!(" (did you mean {near}?)") }
            )));
        }
        self.rule(is_wanted, 'k', "*", name);
        Ok(())
    }

    /// `layer:name` or `library:name`. The library may be a program: it may hold a copy of the runtime.
    fn of_library(&mut self, is_wanted: bool, word: &str, exported: &[&str]) -> Result<(), FilterError> {
        let (library, name) = word.split_once(':').unwrap_or((word, ""));
        if library.is_empty() || name.is_empty() || name.contains(':') {
            return Err(FilterError(format!(
                "{word} in the filter is not of the form library:function; write it as runtime:cudaMalloc, \
                 libcublas:cudaMalloc or saxpy:*"
            )));
        }
        // A family's name means its layer, as `driver` and `cuda`: a copy of the runtime is in a file of any name.
        let layer = Layer::of_name(library).or_else(|| library::named(library).map(|of| of.layer));
        let names = self.names(name, exported)?;
        if let Some(layer) = layer.filter(|layer| *layer != Layer::LIBRARY || library == Layer::LIBRARY.name()) {
            names.iter().for_each(|name| self.rule(is_wanted, layer.letter(), "*", name));
            return Ok(());
        }
        let patterns = libraries(library)?;
        for name in names {
            patterns.iter().for_each(|library| self.rule(is_wanted, '*', library, &name));
        }
        Ok(())
    }

    /// Patterns for what a person calls a function.
    fn names(&mut self, word: &str, exported: &[&str]) -> Result<Vec<String>, FilterError> {
        if word.contains(['*', '?']) {
            return Ok(vec![word.to_owned()]);
        }
        if word == CHATTER {
            return Ok(vec![filter::CHATTER.to_owned()]);
        }
        if !check(word, exported)? {
            self.unknown.push(word.to_owned());
        }
        // cuMemAlloc means cuMemAlloc_v2 as well: programs call the latest by the plain name.
        Ok(vec![word.to_owned(), format!("{word}_*")])
    }

    fn rule(&mut self, is_wanted: bool, layer: char, library: &str, name: &str) {
        let sign = if is_wanted { '+' } else { '-' };
        // Writing to a string does not fail.
        let _ = writeln!(self.rules, "{sign}{layer} {library} {name}");
    }
}

/// `hidden:21318c60[51]`, `21318c60[51]`, `21318c60[*]`: a slot of a hidden table, or a pattern for some.
pub(super) fn hidden_name(word: &str) -> Result<Option<&str>, FilterError> {
    let (named, name) = word.strip_prefix("hidden:").map_or((false, word), |name| (true, name));
    let (short, number) = name.strip_suffix(']').and_then(|name| name.split_once('[')).unwrap_or((name, "*"));
    let digits = |c: char| c.is_ascii_digit() || c.is_ascii_lowercase() && c.is_ascii_hexdigit();
    let pattern = |c: char| matches!(c, '*' | '?');
    let of_table = (short.len() == 8 || short.contains(pattern)) && short.chars().all(|c| digits(c) || pattern(c));
    let of_slot = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || pattern(c));
    if of_table && of_slot && (named || name.contains('[') && short.len() == 8) {
        return Ok(Some(name));
    }
    match named {
        true => Err(FilterError(format!(
            "{word} in the filter is no slot of a hidden table; write it as hidden:21318c60[51] or hidden:21318c60[*]"
        ))),
        false => Ok(None),
    }
}

/// All functions of hidden tables. The pattern `*` would add the layer and keep the others.
const ALL: &str = "*[*";

/// The library and the pattern for functions of `libcublas:hidden` or `libcublas:c693336e[2]`: hidden functions as far
/// as that library calls them.
pub(super) fn hidden_of_library(word: &str) -> Result<Option<(&str, String)>, FilterError> {
    let Some((library, of)) = word.split_once(':').filter(|(library, _)| !library.is_empty() && *library != "hidden")
    else {
        return Ok(None);
    };
    if library.contains('[') {
        return Ok(None);
    }
    if of == Layer::HIDDEN.name() {
        return Ok(Some((library, ALL.to_owned())));
    }
    let table = of.strip_suffix('*').unwrap_or(of);
    let is_table = table.len() == 8 && table.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    let name = if is_table { Some(format!("{table}[*]")) } else { hidden_name(of)?.map(str::to_owned) };
    Ok(name.map(|name| (library, name)))
}

/// Patterns for what a person calls a library or a program.
pub(super) fn libraries(library: &str) -> Result<Vec<String>, FilterError> {
    is_no_slip(library)?;
    let mut patterns =
        if library.contains(".so") || is_library(library) { files(library) } else { vec![library.into()] };
    if let Some(of) = library::named(library).filter(|of| of.layer == Layer::LIBRARY) {
        patterns.extend(of.patterns);
    }
    Ok(patterns)
}

/// Refuses the name of a file that is nearly a watched library's.
fn is_no_slip(word: &str) -> Result<(), FilterError> {
    match &library::misspelt(word)[..] {
        near if near.is_empty() || !word.starts_with("lib") => Ok(()),
        near => Err(FilterError(format!(
            "unknown library {word} in the filter; did you mean {}? ({word}* takes it as it is)",
            near.join(", ")
        ))),
    }
}

fn is_library(word: &str) -> bool {
    word.starts_with("lib") && similar_words(word).is_empty()
}

/// Refuses a plain name that is nobody's. False when it may be one that we do not know.
fn check(word: &str, exported: &[&str]) -> Result<bool, FilterError> {
    let versions = |k: &&str| k.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'));
    if exported.iter().any(versions) {
        return Ok(true);
    }
    // A name that differs from a known one in capitals only is a slip.
    let slip = exported.iter().any(|k| k.eq_ignore_ascii_case(word));
    let ours = cutap_calls::in_family(word.as_bytes());
    if exported.is_empty() && ours {
        return Ok(false);
    }
    if !slip && library::has_function(word) {
        return Ok(true);
    }
    if let Some(advice) = advice(word) {
        return Err(FilterError(format!("unknown function {word} in the filter; {advice} (cutap help filters)")));
    }
    let mut near = similar_words(word);
    near.extend(nearest(word, exported));
    // Functions have capitals or underscores behind their library's name.
    let library = !word.contains(|c: char| c.is_ascii_uppercase() || c == '_');
    if library {
        near.extend(library::similar_libraries(word));
    } else if let Some(family) = library::listed(word) {
        near.extend(library::near_functions(family, word));
    } else if !slip && !is_of_cuda(word) && ours {
        // Of a library of which nobody has a list.
        return Ok(false);
    }
    let mut distinct = BTreeSet::new();
    near.retain(|name| distinct.insert(*name));
    let suggestion = if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(", ")) };
    let noun = if library && (ours || !library::similar_libraries(word).is_empty()) {
        "function or library"
    } else {
        "function"
    };
    let as_it_is = format!("{word}* takes it as it is");
    // A name without a similar one may be that of a kernel.
    let hint = match (near.is_empty(), is_of_cuda(word)) {
        (true, false) => {
            format!("{as_it_is}; a kernel is chosen by 'cudaLaunchKernel*[kernel=*{word}*]', a range by nvtx:{word}")
        }
        _ => as_it_is,
    };
    Err(FilterError(format!("unknown {noun} {word} in the filter{suggestion} ({hint})")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_layer_is_a_term() {
        for layer in Layer::all() {
            let filter = Filter::parse(layer.name()).unwrap();
            assert_eq!(filter.rules(), format!("+{} * *\n", layer.letter()));
        }
    }

    #[test]
    fn the_class_of_calls_that_start_no_work() {
        let filter = |text: &str| Filter::parse(text).unwrap();
        assert_eq!(filter("!chatter").rules(), "-* * ~chatter\n");
        assert_eq!(filter("runtime:chatter,!libcublas:chatter").rules(), {
            "+r * ~chatter\n-* libcublas.so* ~chatter\n-* libcublas-*.so* ~chatter\n"
        });
        let wants = |text: &str, layer, name: &str| filter(text).wants_function(layer, "saxpy", name);
        assert!(!wants("!chatter", Layer::RUNTIME, "cudaGetDevice"));
        assert!(wants("!chatter", Layer::RUNTIME, "cudaSetDevice"));
        assert!(wants("chatter,!driver", Layer::RUNTIME, "cudaGetDevice"));
        assert!(!wants("chatter,!driver", Layer::DRIVER, "cuCtxGetCurrent"));
        assert!(filter("!chatter").only_excludes() && filter("chatter[device=0]").asks_arguments());
        let slip = Filter::parse("chater").unwrap_err().to_string();
        assert!(slip.contains("did you mean chatter"), "{slip}");
    }
}
