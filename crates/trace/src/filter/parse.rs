//! The language of `-e`: terms with commas between them.
//!
//! A term is `name` or `na*me` of a function, a layer, a slot of a hidden table (`21318c60[51]`), a library (`cublas`,
//! `libcublas*`), or both (`saxpy:cudaMalloc`). It can be `cxx`, `error`, a duration (`>1ms`, `<10us`) or `pid:7`. A
//! `!` before a term means not. After what picks functions there may be conditions on arguments
//! (`cuMemAlloc*[bytesize>1GiB]`). Names, layers and libraries say which functions are wanted and become the rules of
//! the control page, so that the target records nothing else. `error` and durations are known only when a call ends:
//! each such call is shown alone, at its end.

use super::ancestors::{self, Ancestors, UNDER};
use super::comparison::Term;
use super::condition::Condition;
use super::owners::Owners;
use super::parts::split_at_and;
use super::range_term::{may_be_range, range_name, rules_of as range_rules};
use super::refusal::{self, FilterError};
use super::term::{hidden_name, hidden_of_library};
use super::time_window::TimeWindow;
use crate::event::Layer;
use cutap_calls::filter::TRACKED;
use cutap_calls::{Role, patterns_of};

/// The rule by which no function is recorded.
const NO_FUNCTION: &str = "-* * *\n";

/// What is wanted. [`Filter::default`] wants every call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filter {
    pub(super) rules: String,
    /// The rules that come with no conditions on arguments.
    pub(super) plain: String,
    pub(super) arguments: Vec<Term>,
    /// What a runtime's launch is asked the driver's launch in it tells.
    pub(super) launches: bool,
    pub(super) lookups: bool,
    pub(super) cxx: bool,
    pub(super) conditions: Vec<Condition>,
    pub(super) text: String,
    /// Plain names that were taken although no table has them.
    pub(super) unknown: Vec<String>,
    /// Whose calls are wanted.
    pub(super) owners: Owners,
    /// Whose calls the other parts of `A & B` want.
    pub(super) owners_of_parts: Vec<Owners>,
    /// Inside which calls a call must be; one for each part of `A & B` that asks.
    pub(super) ancestors: Vec<Ancestors>,
    /// When calls are wanted; always without one.
    pub(crate) window: Option<TimeWindow>,
    /// Other parts of `A & B` that pick functions.
    pub(super) other_parts: Vec<Filter>,
    /// A reader who asked for no calls gets those that the run was asked for.
    pub(super) or_filter_of_run: bool,
    pub(crate) is_filter_of_run: bool,
    /// A call that is left out by its arguments is left out with all calls inside.
    pub(super) excludes_inside: bool,
}

impl Filter {
    pub fn parse(text: &str) -> Result<Filter, FilterError> {
        Filter::parse_with(text, cutap_calls::FUNCTIONS)?.checked()
    }

    /// The same filter, if calls can fulfil its conditions.
    pub(super) fn checked(mut self) -> Result<Filter, FilterError> {
        let tables = &cutap_calls::generated::known::TABLES;
        self.check_parameters(tables)?;
        self.other_parts.iter().try_for_each(|part| part.check_parameters(tables))?;
        self.launches = self.asks_of_launches(tables);
        Ok(self)
    }

    /// Parses; `known` are the functions that the driver and the runtimes are known to export. When
    /// it is empty, any name is taken that could be one of CUDA's.
    pub fn parse_with(text: &str, exported: &[&str]) -> Result<Filter, FilterError> {
        Filter::parse_all(&split_at_and(text), exported)
    }

    /// Parses a text without `&`.
    pub(super) fn parse_one(text: &str, exported: &[&str]) -> Result<Filter, FilterError> {
        let mut filter = Filter { text: text.trim().to_owned(), ..Filter::default() };
        let (mut only_lookups, mut ancestors) = (true, Ancestors::default());
        for term in split(text) {
            // As in strace, where it is the usual kind of expression.
            let term = term.trim().trim_start_matches("trace=");
            let (is_wanted, word) = match term.strip_prefix('!') {
                Some(rest) => (false, rest.trim()),
                None => (true, term),
            };
            if let Some(outer) = word.strip_prefix(UNDER) {
                ancestors.add(is_wanted, Filter::functions_of(outer.trim(), exported)?);
                only_lookups = false;
                continue;
            }
            if let Some(name) = range_name(word) {
                filter.ranges(is_wanted, name)?;
                only_lookups = false;
                continue;
            }
            if let Some((library, name)) = hidden_of_library(word)? {
                filter.with_callers(is_wanted, library, &name)?;
                only_lookups = false;
                continue;
            }
            let conditions = word.split_once('[').filter(|_| matches!(hidden_name(word), Ok(None)));
            if let Some((of, conditions)) = conditions {
                filter.with_arguments(is_wanted, of.trim(), conditions, exported)?;
                only_lookups = false;
                continue;
            }
            let from = filter.rules.len();
            only_lookups &= filter.term(is_wanted, word, exported)?;
            filter.plain.push_str(&filter.rules[from..]);
        }
        if filter.lookups && only_lookups {
            filter.rules.push_str(NO_FUNCTION);
        }
        if !ancestors.is_empty() {
            filter.ancestors.push(ancestors);
        }
        Ok(filter)
    }

    /// The rules of a term `under:`.
    fn functions_of(term: &str, exported: &[&str]) -> Result<String, FilterError> {
        let functions = match Filter::parse_one(term, exported) {
            Err(_) if may_be_range(term) => return range_rules(true, term),
            parsed => parsed?,
        };
        let picks = functions.rules.contains('+') && !functions.asks_calls() && split(term).count() == 1;
        if !picks || functions.lookups || functions.cxx {
            return Err(FilterError(format!(
                "{UNDER}{term} in the filter names no function; write it as {UNDER}cublasSgemm_v2, {UNDER}cuMem* or \
                 {UNDER}cublas, and conditions as other terms"
            )));
        }
        Ok(functions.rules)
    }

    /// Refuses more terms `under:` than there are bits.
    pub(super) fn check_ancestors(&self) -> Result<(), FilterError> {
        let terms = self.ancestors.iter().flat_map(Ancestors::terms).count();
        if terms > ancestors::MOST {
            return Err(FilterError(format!("the filter has {terms} terms {UNDER}; {} are possible", ancestors::MOST)));
        }
        Ok(())
    }

    /// One of the rules of a control page.
    pub(crate) fn of_rules(rules: String) -> Filter {
        Filter { rules, ..Filter::default() }
    }

    /// What was parsed; empty if nothing was.
    pub fn text(&self) -> &str {
        &self.text
    }
    /// Plain names that were taken although nobody knows them (those of toolkit libraries), each with
    /// those of `run_names` and of CUDA's own functions that it may have meant.
    pub(crate) fn near<'a>(&'a self, run_names: &[&'a str]) -> Vec<(&'a str, Vec<&'a str>)> {
        let near = |word: &'a String| {
            let mut near = refusal::nearest(word, run_names);
            near.extend(refusal::nearest(word, cutap_calls::FUNCTIONS));
            near.dedup();
            (word.as_str(), near)
        };
        self.unknown.iter().map(near).filter(|n| !n.1.is_empty()).collect()
    }

    /// Which functions are wanted, as rules of the control page.
    pub fn rules(&self) -> &str {
        &self.rules
    }
    /// Text for the rules of the control page: what is to be recorded, be it only to decide what is wanted. With
    /// `tracked` also what later calls depend on, such as allocations and captures of graphs.
    pub fn recorded(&self, tracked: bool) -> String {
        let rule = |pattern| format!("+{} * {pattern}\n", Layer::DRIVER.letter());
        let has_launches = self.launches && self.rules.contains('+');
        let launches: String = patterns_of(Role::LaunchOfDriver).filter(|_| has_launches).map(rule).collect();
        let has_functions = !self.rules.is_empty() && self.rules != NO_FUNCTION;
        let tracked = if tracked && has_functions { TRACKED } else { "" };
        let rules = ancestors::recorded_rules(&self.ancestors, &self.rules, self.excludes_inside);
        format!("{rules}{launches}{tracked}")
    }
    /// Whether a rule adds calls of this layer by its letter. An asked layer is recorded only then.
    pub fn adds(&self, layer: Layer) -> bool {
        let added = self.rules.lines().filter_map(|rule| rule.strip_prefix('+'));
        added.filter_map(|rule| rule.split(' ').next()).any(|letters| letters.contains(layer.letter()))
    }
    /// Several parts that must all hold pick functions, as -e A -e B.
    pub fn is_intersection(&self) -> bool {
        !self.other_parts.is_empty()
    }
    /// Look-ups are events too.
    pub fn wants_lookups(&self) -> bool {
        self.lookups
    }
    /// C++ functions are to be noted too.
    pub fn wants_cxx(&self) -> bool {
        self.cxx
    }

    /// Whether calls of this function are wanted.
    pub(crate) fn wants_function(&self, of: Layer, library: &str, name: &str) -> bool {
        let of = of.number();
        let adds_function = |filter: &Filter| {
            cutap_calls::filter::is_shown(filter.rules.as_bytes(), of, library.as_bytes(), name.as_bytes())
        };
        adds_function(self) && self.other_parts.iter().all(adds_function)
    }
    /// The terms `under:` that a function fulfils for its calls and those inside: a bit for each.
    pub(crate) fn ancestor_bits(&self, layer: Layer, library: &str, name: &str) -> u64 {
        ancestors::bits_of_all(&self.ancestors, layer, library, name)
    }
    /// Whether a call is wanted, by the bits of its function and of those around it.
    #[inline(always)]
    pub(crate) fn accepts_ancestors(&self, bits: u64) -> bool {
        self.ancestors.is_empty() || ancestors::all_accept(&self.ancestors, bits)
    }
    /// The same calls, as far as they overlap a part of the run.
    pub fn during(self, window: Option<TimeWindow>) -> Filter {
        Filter { window, ..self }
    }

    /// Of the rules of a control page: whether calls of this function are recorded.
    pub(crate) fn records(&self, of: Layer, library: &str, name: &str) -> bool {
        let of = of.number();
        cutap_calls::filter::recorded(self.rules.as_bytes(), of, library.as_bytes(), name.as_bytes())
    }
    /// Whether something else than a function's name and library decides.
    pub fn asks_calls(&self) -> bool {
        self.asks_arguments() || self.needs_end() || !self.ancestors.is_empty()
    }
    /// Whether it has conditions on arguments.
    pub(crate) fn asks_arguments(&self) -> bool {
        !self.arguments.is_empty() || self.other_parts.iter().any(Filter::asks_arguments) || self.asks_owner()
    }
    /// Whether calls of some threads only are wanted.
    pub(super) fn asks_owner(&self) -> bool {
        !self.owners.is_everybody() || !self.owners_of_parts.is_empty()
    }
    /// Whether a call is wanted can be said only when it has ended.
    pub(crate) fn needs_end(&self) -> bool {
        !self.conditions.is_empty()
    }
    /// Whether a call that ended like this is wanted. One that did not return has no error, and no duration unless it
    /// is known when it was left: it counts as longer than any.
    pub(crate) fn shows_end(&self, error: bool, took_ns: Option<u64>) -> bool {
        self.conditions.iter().all(|c| c.is_fulfilled(error, took_ns))
    }
}

/// Terms: what stands between commas, but not those in brackets or quotes.
pub(super) fn split(text: &str) -> impl Iterator<Item = &str> {
    let (mut depth, mut quoted) = (0i32, false);
    text.split(move |c| {
        match c {
            '"' => quoted = !quoted,
            '[' if !quoted => depth += 1,
            ']' if !quoted => depth -= 1,
            _ => {}
        }
        c == ',' && depth <= 0 && !quoted
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &[&str] = &["cuInit", "cuMemAlloc_v2", "cuMemFree_v2", "cudaMalloc", "cudaMallocHost", "cudaFree"];

    fn rules(text: &str) -> String {
        Filter::parse_with(text, KNOWN).unwrap().rules().to_owned()
    }

    fn refused(text: &str) -> String {
        Filter::parse_with(text, KNOWN).unwrap_err().to_string()
    }

    #[test]
    fn terms_become_rules() {
        assert_eq!(rules("driver,!cuCtx*"), "+d * *\n-* * cuCtx*\n");
        assert_eq!(rules("libcublas*, runtime"), "+* libcublas* *\n+r * *\n");
        assert_eq!(rules("libcublas"), "+* libcublas.so* *\n+* libcublas-*.so* *\n");
        assert_eq!(rules("cuMemAlloc"), "+* * cuMemAlloc\n+* * cuMemAlloc_*\n");
        assert_eq!(rules("nvcompNeverHeardOf"), "+* * nvcompNeverHeardOf\n+* * nvcompNeverHeardOf_*\n");
        assert_eq!(
            rules("nvrtc"),
            "+l libnvrtc.so* *\n+l libnvrtc-*.so* *\n+l libnvrtc.alt.so* *\n+l libnvrtc.alt-*.so* *\n"
        );
        assert_eq!(rules("cudart,!cuda"), "+r * *\n-d * *\n");
        assert_eq!(rules("error"), "");
        assert_eq!(rules("trace=driver,!cuCtx*"), rules("driver,!cuCtx*"));
        assert_eq!(rules("trace=!driver"), "-d * *\n");
        assert_eq!(rules("lookup"), "-* * *\n");
        assert_eq!(rules("lookup,driver"), "+d * *\n");
        assert_eq!(rules("hidden,!hidden:21318c60[*]"), "+h * *\n-h * 21318c60[*]\n");
        assert_eq!(rules("21318c60[51],hidden:6bd5fb6c[?],driver"), "+h * 21318c60[51]\n+h * 6bd5fb6c[?]\n+d * *\n");
        for bad in ["hidden:cuInit", "hidden:", "hidden:21318c6[1]", "hidden:21318c60[x]", "hidden:21318c60[]"] {
            assert!(refused(bad).contains("write it as hidden:21318c60[51]"), "{bad}: {}", refused(bad));
        }
        assert!(Filter::parse_with("21318c60[a=1]", KNOWN).is_err());
    }

    #[test]
    fn functions_of_one_layer() {
        assert_eq!(rules("runtime:cuda*"), "+r * cuda*\n");
        assert_eq!(rules("cudart:cudaMalloc,!driver:*"), "+r * cudaMalloc\n+r * cudaMalloc_*\n-d * *\n");
        assert_eq!(rules("library:cu*"), "+l * cu*\n");
        let filter = Filter::parse("runtime:cuda*").unwrap();
        assert!(filter.wants_function(Layer::RUNTIME, "libcurand.so.10", "cudaMalloc"));
        assert!(filter.wants_function(Layer::RUNTIME, "vector", "cudaMalloc"));
        assert!(!filter.only_excludes() && Filter::parse("!cudaMalloc").unwrap().only_excludes());
        assert!(!Filter::parse("error").unwrap().only_excludes());
    }

    #[test]
    fn functions_of_one_library_or_program() {
        assert_eq!(rules("vector:cudaMalloc"), "+* vector cudaMalloc\n+* vector cudaMalloc_*\n");
        assert_eq!(rules("!libcublas:cuda*"), "-* libcublas.so* cuda*\n-* libcublas-*.so* cuda*\n");
        assert_eq!(rules("my-app.bin:*"), "+* my-app.bin *\n");
        assert!(refused("vector:cudaMaloc").contains("did you mean cudaMalloc"));
        for bad in ["vector:", ":cudaMalloc", "a:b:c"] {
            assert!(refused(bad).contains("not of the form library:function"), "{bad}");
        }
        let filter = Filter::parse("vector:cuda*").unwrap();
        assert!(filter.wants_function(Layer::RUNTIME, "vector", "cudaMalloc"));
        assert!(!filter.wants_function(Layer::RUNTIME, "libcurand.so.10", "cudaMalloc"));
    }

    #[test]
    fn unknown_names_may_have_meant_what_was_seen() {
        let filter = Filter::parse("nvtxRangePob,cudaMalloc,nvtxFarAway").unwrap();
        assert_eq!(filter.text(), "nvtxRangePob,cudaMalloc,nvtxFarAway");
        assert_eq!(filter.near(&["nvtxRangePop", "nvtxMarkA"]), [("nvtxRangePob", vec!["nvtxRangePop"])]);
        assert!(filter.near(&[]).is_empty());
    }

    #[test]
    fn what_is_shown() {
        let filter = Filter::parse("runtime,cuMem*,!*Free*").unwrap();
        assert!(filter.wants_function(Layer::RUNTIME, "saxpy", "cudaMalloc"));
        assert!(filter.wants_function(Layer::DRIVER, "libcuda.so.1", "cuMemAlloc_v2"));
        assert!(!filter.wants_function(Layer::DRIVER, "libcuda.so.1", "cuMemFree_v2"));
        assert!(!filter.wants_function(Layer::LIBRARY, "libcublas.so.13", "cublasCreate_v2"));
        assert!(Filter::default().wants_function(Layer::LIBRARY, "libcublas.so.13", "cublasCreate_v2"));
    }

    #[test]
    fn all_known_functions_are_known() {
        assert!(Filter::parse("cuInit,cudaMalloc,cuMemAlloc,cudaLaunchKernel,cublasSgemm_v2").is_ok());
        let refused = Filter::parse("cudaMaloc").unwrap_err().to_string();
        assert!(refused.contains("did you mean cudaMalloc"), "{refused}");
        assert!(Filter::parse_with("cudaMaloc", &[]).is_ok(), "nothing to compare with");
    }

    #[test]
    fn conditions() {
        let filter = Filter::parse("error,>1ms").unwrap();
        assert!(filter.needs_end());
        assert!(filter.shows_end(true, Some(1_000_001)));
        assert!(!filter.shows_end(true, Some(1_000_000)));
        assert!(!filter.shows_end(false, Some(2_000_000)));
        let not = Filter::parse("!error,!>1.5us").unwrap();
        assert!(
            not.shows_end(false, Some(1_500)) && !not.shows_end(false, Some(1_501)) && !not.shows_end(true, Some(1))
        );
    }

    #[test]
    fn without_a_duration_it_is_longer_than_any() {
        let shows = |text| Filter::parse(text).unwrap().shows_end(false, None);
        for text in [">1ns", ">1s", ">99999999999999999999s", "!<1s", ">1s,!error"] {
            assert!(shows(text), "{text}");
        }
        for text in ["<1ns", "<99999999999999999999s", "!>1s", ">1s,<2s", ">1s,error"] {
            assert!(!shows(text), "{text}");
        }
    }

    #[test]
    fn arguments_become_rules_and_tests() {
        let filter = Filter::parse_with("cuMem*[bytesize>1GiB, x=\"a,]\"],!cudaFree[a=1],cuInit", KNOWN).unwrap();
        assert_eq!(filter.rules(), "+* * cuMem*\n+* * cuInit\n+* * cuInit_*\n");
        assert!(filter.tests(Layer::DRIVER, "libcuda.so.1", "cuMemAlloc_v2").is_some());
        assert!(filter.tests(Layer::DRIVER, "libcuda.so.1", "cuInit").is_none());
        let not = Filter::parse_with("!cuMem*[bytesize<1KiB]", KNOWN).unwrap();
        assert_eq!(not.rules(), "");
        assert!(not.wants_function(Layer::DRIVER, "libcuda.so.1", "cuMemAlloc_v2"));
        assert!(not.tests(Layer::DRIVER, "libcuda.so.1", "cuInit").is_none());
        for (text, why) in [
            ("cuMem*[bytesize>1GiB", "no ] at its end"),
            ("error[a=1]", "stands behind functions"),
            ("[a=1]", "stands behind functions"),
            ("cuMem*[]", "compares nothing"),
            ("cuMemAlloc[a=1]b", "no ] at its end"),
        ] {
            assert!(refused(text).contains(why), "{text}: {}", refused(text));
        }
    }

    #[test]
    fn parameters_of_a_runtimes_launch_need_the_drivers() {
        let recorded = |text: &str| Filter::parse(text).unwrap().recorded(false);
        let launch = "+* * cudaLaunchKernel\n+* * cudaLaunchKernel_*\n";
        assert_eq!(recorded("cudaLaunchKernel[args.n=0]"), format!("{launch}+d * cuLaunch*\n"));
        assert_eq!(recorded("runtime,!cudaLaunchKernel[args.0=1]"), "+r * *\n+d * cuLaunch*\n");
        for text in
            ["cudaLaunchKernel[kernel=x]", "cudaLaunchKernel[args=NULL]", "!cudaLaunchKernel[args.0=1]", "driver"]
        {
            assert_eq!(recorded(text), Filter::parse(text).unwrap().rules(), "{text}");
        }
    }

    #[test]
    fn what_later_calls_depend_on_is_recorded_with_any_function() {
        let tracks = |text: &str| Filter::parse(text).unwrap().recorded(true).contains(TRACKED);
        // A library can have a runtime linked in.
        for text in ["runtime", "libcurand", "!cuMemFree*", "driver,!cuMem*", "cuda*[size>1]", "nccl", "cudaMemcpy"] {
            assert!(tracks(text), "{text}");
        }
        assert!(!tracks("lookup") && !tracks("error"));
        assert!(!Filter::parse("cudaMalloc").unwrap().recorded(false).contains('~'));
    }

    #[test]
    fn of_calls_that_were_only_counted_no_condition_holds() {
        let wants = |text: &str| {
            let filter = Filter::parse_with(text, KNOWN).unwrap();
            filter.tests(Layer::DRIVER, "libcuda.so.1", "cuInit").is_none_or(|tests| tests.wants_unknown())
        };
        assert!(wants("!cuInit[Flags=0]") && wants("cuInit[Flags=0],driver") && wants("!driver[kernel=x]"));
        assert!(!wants("cuInit[Flags=0]") && !wants("cuInit[Flags!=0]"));
    }

    #[test]
    fn flags() {
        let filter = Filter::parse("cxx,lookup,libcudnn*").unwrap();
        assert!(filter.wants_cxx() && filter.wants_lookups());
        assert!(!Filter::default().wants_cxx() && !Filter::default().wants_lookups());
    }

    #[test]
    fn names_of_libraries_that_are_slips() {
        assert_eq!(
            refused("libcurnd"),
            "unknown library libcurnd in the filter; did you mean libcurand? (libcurnd* takes it as it is)"
        );
        for slip in ["libcurnd.so.10", "!libcublsa", "libcurnd:cudaMalloc", "libcudrat", "libncl"] {
            assert!(refused(slip).contains("; did you mean lib"), "{slip}: {}", refused(slip));
        }
        for taken in [
            "libcurnd*",
            "libcurand",
            "libcurand.so.10",
            "libcublas-0a1b2c3d.so.12",
            "libnvml",
            "libcudnn_ops.so.9",
            "libnpp",
            "libtorch_cuda",
            "libmine.so.1",
            "libgomp.so.1",
            "lib*",
            "vectr:cudaMalloc",
        ] {
            assert!(Filter::parse_with(taken, KNOWN).is_ok(), "{taken}: {}", refused(taken));
        }
        // Each watched library by its own name.
        for watched in cutap_calls::WATCHED {
            let name = watched.soname.replace('*', "1");
            assert!(Filter::parse_with(&name, KNOWN).is_ok(), "{name}: {}", refused(&name));
        }
    }

    #[test]
    fn refusals_name_what_was_meant() {
        assert_eq!(
            refused("cudaMaloc"),
            "unknown function cudaMaloc in the filter; did you mean cudaMalloc? (cudaMaloc* takes it as it is)"
        );
        assert!(refused("libary").contains("did you mean library?"), "{}", refused("libary"));
        assert!(refused("drvier").contains("did you mean driver?"), "{}", refused("drvier"));
        assert!(refused("malloc").contains("unknown function malloc"));
        assert!(refused("cublasSgemn").contains("did you mean cublasSgemm"), "{}", refused("cublasSgemn"));
        assert_eq!(
            refused("nvlm"),
            "unknown function or library nvlm in the filter; did you mean nvml? (nvlm* takes it as it is)"
        );
        assert!(refused("nvtz").contains("unknown function or library nvtz"), "{}", refused("nvtz"));
        assert!(refused("syscal").contains("did you mean syscall? ("), "{}", refused("syscal"));
        assert!(refused("saxpy").contains("'cudaLaunchKernel*[kernel=*saxpy*]'"), "{}", refused("saxpy"));
        assert!(refused("trace=all").contains("leave -e out"), "{}", refused("trace=all"));
        assert!(refused("status=failed").contains("write error, or -Z"), "{}", refused("status=failed"));
        assert!(refused("driver,,runtime").contains("empty"));
        assert!(refused(">5parsecs").contains("ns, us, ms, s, m or h"));
        assert!(refused("cu Mem").contains("cu Mem"));
        assert_eq!(rules("syscall,syscall:*getenv,!ioctl"), "+k * *\n+k * *getenv\n-k * ioctl\n");
        assert!(refused("syscall:ioctk").contains("has no function ioctk"));
    }
}
