//! Other rules for a program that runs.

use super::end_lines::calls;
use super::function_names::FunctionName;
use super::injection::DRIVER_FUNCTIONS;
use super::rows::{row_bytes, rows_of};
use super::rule_text::InjectRule;
use super::run_file::RunFile;
use crate::base::error::{Error, Result, cannot};
use cutap_trace::RunPath;
use cutap_wire::injected::{COUNTERS, Counter, FILE, Head, ROWS, Row, part};
use rustix::fs::{FlockOperation, flock};
use std::mem::offset_of;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// What was replaced.
#[derive(Debug)]
pub struct Replaced {
    /// How often the rules before acted, one sentence each.
    pub before: Vec<String>,
}

/// Puts these rules in the place of those that hold.
pub fn replace_rules(run: &Path, rules: &[InjectRule]) -> Result<Replaced> {
    let path = run.join(FILE);
    let none = || {
        let advice = "start it with --inject, --rules or --arm, which say what may be changed";
        Error::own(format!("the program runs without rules, and none of its functions are armed; {advice}"))
    };
    let run_path = RunPath::open(run).map_err(|e| cannot("open", run, &e, "it is not the folder of a run"))?;
    let file = run_path.join(FILE).open_file(true).map_err(|_| none())?;
    let failed = |e: std::io::Error| cannot("write", &path, &e, "run cutap ctl as the user of the program");
    // Two commands that replace rules at the same time take turns.
    flock(&file, FlockOperation::LockExclusive).map_err(|e| failed(e.into()))?;
    let now = RunFile::read(run).ok_or_else(none)?;
    refuse_unarmed(&now, rules)?;
    let generation = now.word(offset_of!(Head, generation)).unwrap_or(0) + 1;
    let first = now.half(offset_of!(Head, next_counter)).unwrap_or(0);
    let rows = rows_of(rules, first)?;
    let bank = (generation & 1) as usize;
    let put = |at: usize, bytes: &[u8]| file.write_all_at(bytes, at as u64).map_err(failed);
    // Readers of this bank are two generations behind, and see it here.
    put(offset_of!(Head, writing), &generation.to_ne_bytes())?;
    for (n, row) in rows.iter().enumerate() {
        put(part::BANKS + (bank * ROWS + n) * size_of::<Row>(), &row_bytes(row))?;
    }
    for n in 0..rules.len() {
        let counter = (first as usize + n) % COUNTERS;
        put(part::COUNTERS + counter * size_of::<Counter>(), &[0; size_of::<Counter>()])?;
    }
    put(offset_of!(Head, rows) + bank * 4, &(rows.len() as u32).to_ne_bytes())?;
    let next = (first as usize + rules.len()) % COUNTERS;
    put(offset_of!(Head, next_counter), &(next as u32).to_ne_bytes())?;
    put(offset_of!(Head, generation), &generation.to_ne_bytes())?;
    let sentence = |rule: &super::run_file::RunRule| {
        format!("'{}' acted on {} of {}", rule.text, rule.counts.acted, calls(rule.counts.matched))
    };
    Ok(Replaced { before: now.rules().iter().map(sentence).collect() })
}

/// Only functions that were armed at the start can have rules.
fn refuse_unarmed(now: &RunFile, rules: &[InjectRule]) -> Result<()> {
    const MOST: usize = 6;
    let armed: Vec<FunctionName> =
        now.armed().into_iter().map(|(pattern, layers)| FunctionName { pattern, layers }).collect();
    for rule in rules {
        let mut names: Vec<&str> = rule.functions.iter().flat_map(|name| name.not_among(&armed)).collect();
        names.dedup();
        if !names.is_empty() {
            let more = names.len().saturating_sub(MOST);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let first_names = names.get(..names.len().min(MOST)).unwrap_or_default().join(", ");
            let patterns: Vec<&str> = rule.functions.iter().map(|name| name.pattern.as_str()).collect();
            return Err(Error::own(format!(
                "{rule} needs {first_names}{more}, which was not armed when the program started; start it with \
                 --arm '{}'",
                patterns.join(",")
            )));
        }
        if rule.is_fault && now.half(offset_of!(Head, has_faults)) != Some(1) {
            let (pattern, _) = DRIVER_FUNCTIONS;
            return Err(Error::own(format!(
                "{rule} is a fault of the GPU, which makes later calls of all functions of the driver fail; start the \
                 program with --arm 'driver:{pattern}', or write retval= for this call alone"
            )));
        }
    }
    Ok(())
}
