//! A call that failed, after which the thread went on as if it had not: its next call asks neither for the error nor
//! for its text.

use super::seen::ObservedCall;
use super::site::{Key, Site, key};
use super::{Finding, Rank, Rule};
use cutap_calls::{Role, has_role};
use std::collections::HashMap;

pub(super) fn rule() -> Box<dyn Rule> {
    Box::new(IgnoredError::default())
}

#[derive(Default)]
struct IgnoredError {
    /// The last call of each thread, if it failed.
    failed: HashMap<u32, Failure>,
    places: HashMap<(Key, String), (Site, Ignored)>,
}

struct Failure {
    place: (Key, String),
    site: Site,
}

#[derive(Default)]
struct Ignored {
    calls: u64,
    /// The call that followed the first one.
    next: String,
}

/// What runtimes get when they clean up after the driver has ended, or after the program has ended its context.
fn is_of_cleanup(function: &str, status: &str) -> bool {
    let has = |role| has_role(function.as_bytes(), role);
    let is_shutdown_status = ["DEINITIALIZED", "CudartUnloading"].iter().any(|end| status.ends_with(end));
    is_shutdown_status || has(Role::EndsModules) || has(Role::ReleasesPrimaryContext)
}

impl Rule for IgnoredError {
    fn name(&self) -> &'static str {
        "ignored_error"
    }

    fn call(&mut self, seen: &ObservedCall<'_>) {
        // Errors inside a library or a runtime are theirs to handle, and start-up asks for what may be missing.
        if !seen.outer_calls.is_empty() {
            return;
        }
        let has = |role| seen.function().roles.has(role);
        if has(Role::ProcAddress) || has(Role::ExportTable) {
            return;
        }
        let thread = seen.call().thread.key;
        let asks_error = has(Role::AsksLastError) || seen.function().name.contains("Error");
        if let Some(Failure { place, site }) = self.failed.remove(&thread)
            && !asks_error
        {
            let next = || (site, Ignored { calls: 0, next: seen.function().display_name().to_owned() });
            self.places.entry(place).or_insert_with(next).1.calls += 1;
        }
        let status = seen.exit.status_name().unwrap_or("an error");
        if seen.exit.is_error() && !is_of_cleanup(&seen.function().name, status) && !asks_error {
            let place = (key(seen), status.to_owned());
            self.failed.insert(thread, Failure { place, site: Site::of(seen) });
        }
    }

    fn findings(&self, _: u64) -> Vec<Finding> {
        // The last call of a thread counts where earlier calls of the same place were ignored. Alone it may be why the
        // thread ended.
        let last =
            |place: &(Key, String)| self.failed.values().filter(|failure| failure.place == *place).count() as u64;
        let finding = |(place, (site, ignored)): (&(Key, String), &(Site, Ignored))| {
            finding(&place.1, site, ignored.calls + last(place), &ignored.next)
        };
        self.places.iter().map(finding).collect()
    }
}

fn finding(status: &str, site: &Site, calls: u64, next: &str) -> Finding {
    let name = site.path().last().cloned().unwrap_or_default();
    let times = if calls == 1 { "once".to_owned() } else { format!("{calls} times") };
    Finding {
        title: format!("An ignored error: {name} = {status}"),
        cost_ns: 0,
        rank: Rank::Wrong,
        evidence: vec![format!("It failed {times}, and the thread went on with {next}.")],
        site: site.clone(),
        advice: "Check the result of each call. Later results may be wrong, and later errors may come from this one.",
        other_places: (0, 0),
        times: calls,
    }
}
