//! Which call sites are tested: those that all clean runs have with the same number of calls.

use super::child::{Done, Ended};
use cutap_collect::{CallSite, Error, Result, typical_error};
use std::collections::BTreeMap;

/// A site that is tested, with the status that its first call gets.
pub struct Planned {
    pub site: CallSite,
    pub error: String,
}

impl Planned {
    /// The rule that makes its first call fail.
    pub fn rule(&self) -> String {
        let CallSite { layer, function, module, offset } = &self.site;
        format!("{layer}:{function}[site={module}+{offset:#x}]:error={}:when=1", self.error)
    }
}

/// What clean runs are like.
pub struct Plan {
    /// In the order in which they are tested.
    pub sites: Vec<Planned>,
    /// Sites that differ from run to run.
    pub unstable: Vec<CallSite>,
    /// Sites whose functions have no status that could be given.
    pub without_error: Vec<CallSite>,
    /// The output, if it is the same in all runs.
    pub output: Option<Vec<u8>>,
    /// The number of calls at each site.
    pub calls: BTreeMap<CallSite, u64>,
}

impl Plan {
    pub fn new(clean: &[Done]) -> Result<Plan> {
        let Some(first) = clean.first() else { return Err(Error::own("there is no clean run")) };
        for run in clean {
            match run.ending {
                Ended::Code(0) => {}
                Ended::Code(code) => {
                    return Err(Error::own(format!(
                        "the program ends with exit code {code} when no call fails; make it succeed first"
                    )));
                }
                Ended::Signal(_) | Ended::Hung => {
                    return Err(Error::own("the program dies when no call fails; make it succeed first"));
                }
            }
        }
        if clean.iter().all(|run| run.sites.is_empty()) {
            return Err(Error::own("the program made no CUDA call that returns a status, so nothing can fail"));
        }
        let mut counted: BTreeMap<CallSite, Vec<u64>> = BTreeMap::new();
        for run in clean {
            for (site, calls) in &run.sites {
                counted.entry(site.clone()).or_default().push(*calls);
            }
        }
        let (mut plan_sites, mut unstable, mut without_error, mut calls) =
            (Vec::new(), Vec::new(), Vec::new(), BTreeMap::new());
        for (site, counts) in counted {
            let is_stable = counts.len() == clean.len() && counts.iter().all(|count| Some(count) == counts.first());
            match (is_stable, typical_error(&site.function)) {
                (false, _) => unstable.push(site),
                (true, None) => without_error.push(site),
                (true, Some(error)) => {
                    calls.insert(site.clone(), counts.first().copied().unwrap_or(0));
                    plan_sites.push(Planned { site, error });
                }
            }
        }
        let is_same = clean.iter().all(|run| run.output == first.output);
        let output = is_same.then(|| first.output.clone());
        Ok(Plan { sites: in_turn(plan_sites), unstable, without_error, output, calls })
    }
}

/// First a site of each function, then a second one of each: a budget that is short reaches all functions.
fn in_turn(sites: Vec<Planned>) -> Vec<Planned> {
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    let mut numbered: Vec<(usize, Planned)> = sites
        .into_iter()
        .map(|planned| {
            let number = numbers.entry(planned.site.function.clone()).or_default();
            *number += 1;
            (*number, planned)
        })
        .collect();
    numbered.sort_by_key(|(number, _)| *number);
    numbered.into_iter().map(|(_, planned)| planned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn run(sites: &[(&str, u64, u64)], output: &str) -> Done {
        let of = |(function, offset, calls): &(&str, u64, u64)| {
            let (layer, module) = ("driver".to_owned(), "main".to_owned());
            (CallSite { layer, function: (*function).to_owned(), module, offset: *offset }, *calls)
        };
        let sites = sites.iter().map(of).collect();
        Done { ending: Ended::Code(0), lasted: Duration::ZERO, output: output.into(), sites }
    }

    #[test]
    fn only_stable_sites_are_tested_and_each_function_comes_first() {
        let first = [("cuMemAlloc_v2", 16, 1), ("cuMemAlloc_v2", 32, 2), ("cuInit", 64, 1), ("cuMemFree_v2", 80, 1)];
        let second = [("cuMemAlloc_v2", 16, 1), ("cuMemAlloc_v2", 32, 2), ("cuInit", 64, 1), ("cuMemFree_v2", 80, 9)];
        let plan = Plan::new(&[run(&first, "a"), run(&first, "a"), run(&second, "b")]).expect("a plan");
        let offsets: Vec<u64> = plan.sites.iter().map(|planned| planned.site.offset).collect();
        assert_eq!(offsets, [64, 16, 32]);
        assert_eq!((plan.unstable.len(), plan.output.is_none()), (1, true));
        assert_eq!(plan.sites[1].rule(), "driver:cuMemAlloc_v2[site=main+0x10]:error=CUDA_ERROR_OUT_OF_MEMORY:when=1");
    }

    #[test]
    fn a_program_that_fails_is_refused() {
        let failed = Done { ending: Ended::Code(3), ..run(&[("cuInit", 1, 1)], "") };
        assert!(Plan::new(&[failed]).is_err_and(|why| why.to_string().contains("exit code 3")));
        assert!(Plan::new(&[run(&[], "")]).is_err_and(|why| why.to_string().contains("no CUDA call")));
    }
}
