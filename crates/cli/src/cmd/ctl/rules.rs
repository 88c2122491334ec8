//! `cutap ctl PID rules FILE|off`: other rules for a running program. They hold for all processes of its run.

use super::target::run_of;
use cutap_collect::{Result, replace_rules, rules_of_file};
use std::path::Path;

/// The word for no rules.
const OFF: &str = "off";

/// Replaces the rules; returns what to print about it.
pub fn replace(who: &str, file: &Path) -> Result<String> {
    let run = run_of(who)?;
    let rules = if file == Path::new(OFF) { Vec::new() } else { rules_of_file(file)? };
    let before = replace_rules(&run, &rules)?.before;
    let mut text = match rules.len() {
        0 => "no rules hold now\n".to_owned(),
        1 => "1 rule holds now\n".to_owned(),
        number => format!("{number} rules hold now\n"),
    };
    before.iter().for_each(|sentence| text += &format!("before: {sentence}\n"));
    Ok(text)
}
