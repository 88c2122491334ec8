//! `libcublas:hidden` and `libcublas:c693336e[2]`: hidden functions as far as one library or program calls them. The
//! program records all of their calls, since a call shows its caller where it is read.

use super::comparison::{Comparison, Term};
use super::parse::Filter;
use super::refusal::FilterError;
use super::term::libraries;
use cutap_calls::Layer;

impl Filter {
    /// Takes such a term.
    pub(super) fn with_callers(&mut self, is_wanted: bool, library: &str, name: &str) -> Result<(), FilterError> {
        let rules = format!("+{} * {name}\n", Layer::HIDDEN.letter());
        if is_wanted {
            self.rules.push_str(&rules);
        }
        for pattern in libraries(library)? {
            let comparisons = vec![Comparison::of_caller(&pattern)];
            let text = format!("{library}:{name}");
            self.arguments.push(Term { is_wanted, text, rules: rules.clone(), comparisons });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::term::hidden_of_library;
    use super::*;
    use crate::filter::CallUnderTest;

    /// Whether a call of this slot by this library is wanted.
    fn wants(filter: &str, slot: &str, caller: Option<&str>) -> bool {
        let filter = Filter::parse(filter).unwrap();
        let of = (Layer::HIDDEN, "libcuda.so.1", slot);
        let call =
            &mut CallUnderTest { values: &mut |_| None, kernel: None, kernel_later: false, owner: (1, 1), caller };
        filter.wants_function(of.0, of.1, of.2)
            && filter.tests(of.0, of.1, of.2).is_none_or(|t| t.evaluate(call) == Some(true))
    }

    #[test]
    fn by_library_and_by_slot() {
        let cublas = Some("libcublas.so.13");
        for filter in ["libcublas:hidden", "libcublas:c693336e[*]", "libcublas:c693336e", "libcublas:c693336e[2]"] {
            assert!(wants(filter, "c693336e[2]", cublas), "{filter}");
            assert!(!wants(filter, "c693336e[2]", Some("libcublasLt.so.13")), "{filter}");
            assert!(!wants(filter, "c693336e[2]", None), "{filter}");
            let others = Filter::parse(filter).unwrap();
            assert!(!others.wants_function(Layer::DRIVER, "libcuda.so.1", "cuInit"), "{filter}");
            assert!(others.adds(Layer::HIDDEN), "{filter}");
        }
        assert!(wants("vector:hidden", "21318c60[51]", Some("vector")));
        // The word without `lib` means all files of the library.
        assert!(
            wants("cublas:hidden", "c693336e[2]", cublas) && !wants("cublas:hidden", "c693336e[2]", Some("vector"))
        );
        assert!(!wants("libcublas:c693336e[*]", "21318c60[51]", cublas));
        assert!(wants("hidden,!libcublas:hidden", "c693336e[2]", Some("vector")));
        assert!(!wants("hidden,!libcublas:hidden", "c693336e[2]", cublas));
    }

    #[test]
    fn other_terms_are_as_before() {
        for other in ["hidden", "hidden:21318c60[51]", "21318c60[51]", "libcublas:cudaMalloc", "vector:*", "pid:7"] {
            assert!(matches!(hidden_of_library(other), Ok(None)), "{other}");
        }
        let refused = Filter::parse("libcurnd:hidden").unwrap_err().to_string();
        assert!(refused.contains("did you mean libcurand?"), "{refused}");
    }
}
