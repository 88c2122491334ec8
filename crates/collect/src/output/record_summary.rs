//! The last lines of `cutap record`: why GPU times are missing, how much was recorded, and the command that reads it.

use crate::base::default_name::DEFAULT;
use cutap_report::{CallTree, INVENTED, collection_line, unopened_range_line};
use cutap_trace::{Aggregator, Filter};
use std::path::Path;

/// Calls of larger files are not counted: that would take seconds.
const COUNTED_BYTES: u64 = 64 << 20;

/// Notes on GPU times, and last `12 calls are in run.cutap (56 KiB), 1 failed; next: cutap report --errors`: as many as that report has.
/// Of a program that runs on, open calls are not counted: they may return.
pub fn record_summary(file: &Path, is_over: bool) -> Vec<String> {
    let bytes = std::fs::metadata(file).map_or(0, |data| data.len());
    let mut tree = CallTree::default();
    let mut read = || Aggregator::open(file, &Filter::default()).map(|mut calls| calls.run(&mut tree)).ok();
    let end = if bytes <= COUNTED_BYTES { read() } else { None };
    let counted = end.is_some();
    // Without a ring this was said before.
    let unopened = end.filter(|end| end.rings > 0).and_then(|end| unopened_range_line(&end));
    let name = file.display().to_string();
    let file_argument = if name == DEFAULT { String::new() } else { format!(" {name}") };
    let size = file_size(bytes);
    let (calls, failures) = tree.totals();
    let rows = match tree.gpu_rows() {
        0 => String::new(),
        1 => " and 1 row of GPU time".to_owned(),
        n => format!(" and {n} rows of GPU time"),
    };
    let open_calls = if is_over { tree.open_calls() } else { 0 };
    let failed = if failures == 0 { "none failed".to_owned() } else { format!("{failures} failed") };
    let summary = match (counted, calls, failures) {
        (false, ..) => format!("the calls are in {name} ({size}); next: cutap report{file_argument}"),
        (_, 0, _) if tree.left_out_ranges() > 0 => {
            format!("no call was recorded in {name} ({size}), but ranges of NVTX; next: cutap show{file_argument}")
        }
        (_, 0, _) => format!("no call was recorded in {name} ({size})"),
        _ if open_calls > 0 => {
            let calls_are = match (calls, tree.gpu_rows()) {
                (1, 0) => "1 call is".to_owned(),
                (1, _) => format!("1 call{rows} are"),
                _ => format!("{calls} calls{rows} are"),
            };
            format!(
                "{calls_are} in {name} ({size}), {failed}, {open_calls} did not return; next: cutap \
                where{file_argument}"
            )
        }
        (_, 1, 0) if rows.is_empty() => format!("1 call is in {name} ({size}); next: cutap report{file_argument}"),
        (_, n, 0) => format!("{n} calls{rows} are in {name} ({size}), {failed}; next: cutap report{file_argument}"),
        (_, n, _) => {
            format!("{n} calls{rows} are in {name} ({size}), {failed}; next: cutap report --errors{file_argument}")
        }
    };
    let notices = tree.gpu_reasons().iter().filter_map(|reason| collection_line(*reason));
    let invented = tree.has_invented_times().then(|| INVENTED.to_owned());
    notices.chain(invented).chain(unopened).chain([summary]).collect()
}

/// The size of a file for people.
pub fn file_size(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} bytes"),
        10_000..10_000_000 => format!("{} KiB", bytes >> 10),
        _ => format!("{} MiB", bytes >> 20),
    }
}
