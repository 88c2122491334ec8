//! What is known at the end of several runs, as if they were one.

use super::counted::CountSums;
use super::end::End;
use super::filter_outcome::FilterOutcome;

impl End {
    /// Of these runs together. How each of them was recorded, and what each lacks, is only in its own.
    pub fn joined(run_ends: &[End]) -> End {
        if let [one] = run_ends {
            return one.clone();
        }
        let (mut all, mut sums) = (End::default(), CountSums::default());
        for end in run_ends {
            all.add_retired(end);
            all.open += end.open;
            all.processes.running.extend_from_slice(&end.processes.running);
            all.missing.chunks_unknown += end.missing.chunks_unknown;
            all.processes.failed += end.processes.failed;
            all.filtered = join(all.filtered.take(), end.filtered.as_ref());
            end.functions.counted.iter().for_each(|one| sums.add_one(one.clone()));
            // Runs of one machine have the same devices.
            for device in &end.gpu_clocks.devices {
                if !all.gpu_clocks.devices.iter().any(|of| of.uuid == device.uuid) {
                    all.gpu_clocks.devices.push(device.clone());
                }
            }
            all.absent.extend_from_slice(&end.absent);
            all.settings.is_lossy |= end.settings.is_lossy;
            all.settings.counts_chatter |= end.settings.counts_chatter;
            all.coverage.by_filter |= end.coverage.by_filter;
            all.coverage.filter = all.coverage.filter.or_else(|| end.coverage.filter.clone());
        }
        all.functions.counted = sums.sorted();
        all
    }
}

/// What the filter did in both. Names that it may have meant are of interest only if neither has a call.
fn join(one: Option<FilterOutcome>, two: Option<&FilterOutcome>) -> Option<FilterOutcome> {
    let (Some(mut one), Some(two)) = (one.clone(), two) else { return one.or_else(|| two.cloned()) };
    one.shown_calls += two.shown_calls;
    one.filtered_out += two.filtered_out;
    one.near.retain(|_| two.shown_calls == 0);
    one.missing_parameters.retain(|_| two.shown_calls == 0);
    one.unrecorded.retain(|layer| two.unrecorded.contains(layer));
    one.is_kept &= two.is_kept;
    Some(one)
}
