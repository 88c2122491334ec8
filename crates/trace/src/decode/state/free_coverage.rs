//! Which of the calls that free memory a trace has. If some are missing, an address may point to freed memory, and then
//! nothing is said about it.

use super::recorded_calls::RecordedCalls;
use crate::event::Layer;
use cutap_calls::known::{Effect, Family, Function, Tables};
use cutap_calls::{Role, function_with, resets, soname_of};

/// Of which functions that end memory all calls are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct FreeCoverage {
    driver: bool,
    /// The driver's are enough: a runtime ends memory by calls of the driver.
    runtime: bool,
    libraries: bool,
    /// Launches of graphs, which allocate and free too.
    pub graphs: bool,
}

impl FreeCoverage {
    /// Those that the filter lets through, or has recorded for annotations alone.
    pub fn recorded(tables: &Tables, recorded: &RecordedCalls) -> FreeCoverage {
        if recorded.includes_all() {
            return FreeCoverage { driver: true, runtime: true, libraries: true, graphs: true };
        }
        let all = |family: &&Family| {
            let library = library(family);
            family.functions.iter().filter(|f| frees_memory(f)).all(|f| recorded.has(layer(family), &library, f.name))
        };
        let of = |of: Layer| tables.families.iter().filter(move |f| layer(f) == of);
        let driver = of(Layer::DRIVER).all(|f| all(&f));
        let runtime = driver || of(Layer::RUNTIME).all(|f| all(&f));
        let graphs =
            recorded.has(Layer::DRIVER, soname_of(Layer::DRIVER), const { function_with(Role::LaunchesGraph) });
        FreeCoverage { driver, runtime, libraries: of(Layer::LIBRARY).all(|f| all(&f)), graphs }
    }

    /// Whether the end of memory is seen that a call of this layer has made.
    pub fn of(&self, layer: Layer) -> bool {
        match layer {
            Layer::DRIVER => self.driver,
            Layer::RUNTIME => self.runtime,
            _ => self.libraries,
        }
    }
}

/// Whether the filter lets all calls of the driver through that allocate: then memory that nobody
/// allocated is the host's.
pub(crate) fn all_allocations(tables: &Tables, recorded: &RecordedCalls) -> bool {
    let allocates = |e: &Effect| {
        use Effect::*;
        matches!(e, Allocates { .. } | AllocatesInside { .. } | Frees(_) | Unmaps { .. })
    };
    let driver = tables.families.iter().filter(|f| f.name == "driver").flat_map(|f| f.functions);
    let mut allocating = driver.filter(|f| f.effects.iter().any(allocates));
    recorded.includes_all() || allocating.all(|f| recorded.has(Layer::DRIVER, soname_of(Layer::DRIVER), f.name))
}

fn frees_memory(function: &Function) -> bool {
    let frees = |e: &Effect| matches!(e, Effect::Frees(_) | Effect::Unmaps { .. });
    function.effects.iter().any(frees) || resets(function.name)
}

fn layer(family: &Family) -> Layer {
    Layer::of_family(family.name)
}

/// A name as one of its libraries has.
fn library(family: &Family) -> String {
    family.sonames.first().map_or_else(String::new, |s| s.replace('*', "1"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::Filter;
    use crate::merge::reader_options::recorded_calls;
    use cutap_calls::filter::TRACKED;
    use cutap_calls::generated::known::TABLES;

    #[test]
    fn what_is_said_of_memory_depends_on_what_ends_it() {
        let of = |text: &str| FreeCoverage::recorded(&TABLES, &recorded_calls(Filter::parse(text).unwrap()));
        let all = FreeCoverage { driver: true, runtime: true, libraries: true, graphs: true };
        assert_eq!((FreeCoverage::recorded(&TABLES, &RecordedCalls::all()), of("!cudaFree")), (all, all));
        assert_eq!(of("driver"), FreeCoverage { libraries: false, ..all });
        assert_eq!(of("runtime"), FreeCoverage { runtime: true, ..FreeCoverage::default() });
        for text in
            ["cudaMalloc,cudaMemcpy", "cudaMalloc,cudaFree", "runtime,!cudaFreeAsync", "runtime,!cudaDeviceReset"]
        {
            assert_eq!(of(text), FreeCoverage::default(), "{text}");
        }
        let tracked = recorded_calls(Filter::of_rules(format!("+* * cudaMalloc\n{TRACKED}")));
        assert_eq!(FreeCoverage::recorded(&TABLES, &tracked), FreeCoverage { graphs: false, ..all });
        let runtime = recorded_calls(Filter::parse("runtime").unwrap());
        assert!(all_allocations(&TABLES, &tracked) && !all_allocations(&TABLES, &runtime));
    }
}
