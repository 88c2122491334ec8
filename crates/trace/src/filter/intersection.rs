//! Several filters that must all hold: `A & B`, or two `-e`. The program records by the first one that picks
//! functions; the others decide outside, where calls are read.

use super::ancestors::Ancestors;
use super::parse::Filter;
use super::refusal::FilterError;

impl Filter {
    /// The same filter, but what it leaves out by `!NAME` alone is left out with all calls inside.
    #[must_use]
    pub fn excluding_inside(mut self) -> Filter {
        let is_excluding = |part: &Filter| !part.rules.contains('+') && !part.rules.is_empty();
        let of_part =
            |part: &Filter| is_excluding(part).then(|| part.rules.replace("\n-", "\n+").replacen('-', "+", 1));
        let excluded: Vec<String> = std::iter::once(&self).chain(&self.other_parts).filter_map(of_part).collect();
        for rules in excluded {
            let mut ancestors = Ancestors::default();
            ancestors.add(false, rules);
            self.ancestors.push(ancestors);
        }
        self.excludes_inside = true;
        self
    }

    /// What a call fails whose arguments it leaves out is left out, too.
    pub(crate) fn excludes_inside(&self) -> bool {
        self.excludes_inside
    }

    /// It names functions to choose, and nothing else decides.
    pub fn picks_functions(&self) -> bool {
        self.rules.contains('+') && !self.asks_calls()
    }

    /// It names functions, and all of them with `!`.
    pub fn only_excludes(&self) -> bool {
        let each = || std::iter::once(self).chain(&self.other_parts);
        each().all(|part| !part.rules.contains('+')) && each().any(|part| !part.rules.is_empty())
    }

    /// Parses parts that must all hold.
    pub(super) fn parse_all(parts: &[&str], functions: &[&str]) -> Result<Filter, FilterError> {
        if parts.iter().any(|part| part.is_empty()) && parts.len() > 1 {
            return Err(FilterError("one side of & in the filter is empty; write it as driver & error".into()));
        }
        let mut all = parts.iter().map(|part| Filter::parse_one(part, functions)).collect::<Result<Vec<_>, _>>()?;
        // The part that picks functions, for the program; the others have conditions, or leave functions out.
        let picks = |filter: &Filter| filter.rules.contains('+');
        let first = all.iter().position(picks).unwrap_or(0);
        let mut filter = all.remove(first);
        filter.text = parts.join(" & ");
        for mut part in all {
            filter.conditions.append(&mut part.conditions);
            filter.unknown.append(&mut part.unknown);
            filter.ancestors.append(&mut part.ancestors);
            filter.lookups |= part.lookups;
            filter.cxx |= part.cxx;
            if !part.owners.is_everybody() {
                filter.owners_of_parts.push(std::mem::take(&mut part.owners));
            }
            if picks(&part) || !part.arguments.is_empty() {
                filter.other_parts.push(part);
            } else {
                filter.rules.push_str(&part.rules);
                filter.plain.push_str(&part.plain);
            }
        }
        filter.check_ancestors()?;
        Ok(filter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Layer;

    fn shows(text: &str, name: &str) -> bool {
        let layer = if name.starts_with("cuda") { Layer::RUNTIME } else { Layer::DRIVER };
        Filter::parse(text).unwrap().wants_function(layer, "libcuda.so.1", name)
    }

    #[test]
    fn both_must_hold() {
        assert!(shows("runtime & cuda*Async", "cudaMemcpyAsync"));
        assert!(!shows("runtime & cuda*Async", "cudaMemcpy"));
        assert!(!shows("cu*Async* & runtime", "cuMemcpyAsync"));
        assert!(shows("!cuMem* & driver", "cuInit") && !shows("!cuMem* & driver", "cuMemAlloc_v2"));
        assert!(!shows("driver & runtime", "cudaMalloc") && !shows("driver & runtime", "cuInit"));
    }

    #[test]
    fn the_program_records_by_the_part_that_picks() {
        let recorded = |text: &str| Filter::parse(text).unwrap().recorded(false);
        assert_eq!(recorded("error & driver"), "+d * *\n");
        assert_eq!(recorded("driver & !cuCtx*"), "+d * *\n-* * cuCtx*\n");
        assert_eq!(recorded("error & >=1ms"), "");
    }

    #[test]
    fn conditions_of_all_parts_hold() {
        let filter = Filter::parse("error & >=1ms").unwrap();
        assert!(filter.shows_end(true, Some(1_000_000)));
        assert!(!filter.shows_end(false, Some(1_000_000)) && !filter.shows_end(true, Some(999_999)));
        assert!(Filter::parse("driver & ").unwrap_err().to_string().contains("one side of &"));
    }
}
