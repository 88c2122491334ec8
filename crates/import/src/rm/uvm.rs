//! UVM's commands: their numbers, their parameters, and which part of the driver handles them.

use super::checkout::{Checkout, UVM};
use super::release::Rows;
use super::text::{arguments, define, number, plain};
use super::types::Types;
use anyhow::{Result, ensure};
use std::collections::BTreeSet;

/// The sources that route commands, with the word for what they handle.
const ROUTES: [(&str, &str); 3] = [("uvm.c", "uvm"), ("uvm_tools.c", "tools"), ("uvm_test.c", "test")];

/// `number name parameters bytes handler`.
pub(super) fn rows(checkout: &Checkout, types: &mut Types<'_>) -> Result<Rows> {
    let mut handled = Vec::new();
    for (file, word) in ROUTES {
        let text = plain(&checkout.text(&format!("{UVM}/{file}"))?);
        let mut names = BTreeSet::new();
        for call in text.split("UVM_ROUTE_CMD_").skip(1) {
            let Some((_, after)) = call.split_once('(') else { continue };
            if let Some((words, _)) = arguments(after) {
                names.extend(words.first().map(|w| (*w).to_owned()));
            }
        }
        // Commands that are no struct's: a case of the switch.
        names.extend(text.split("case UVM_").skip(1).filter_map(|c| Some(format!("UVM_{}", c.split_once(':')?.0))));
        handled.push((word, names));
    }
    let mut rows = Rows::new();
    for file in ["uvm_ioctl.h", "uvm_linux_ioctl.h", "uvm_test_ioctl.h"] {
        let text = plain(&checkout.text(&format!("{UVM}/{file}"))?);
        for (name, value) in text.lines().filter_map(define) {
            let Some(value) = command(value) else { continue };
            if !name.starts_with("UVM_") || name.contains("BASE") {
                continue;
            }
            let params = format!("{name}_PARAMS");
            let size = types.add_optional(&params);
            let by = handled.iter().find(|(_, names)| names.contains(name)).map(|(word, _)| *word);
            // A number that is no command has no struct and no handler: a flag, a limit.
            if size.is_none() && by.is_none() {
                continue;
            }
            let params = if size.is_some() { params.as_str() } else { "-" };
            rows.insert(value.to_string(), format!("{name} {params} {} {}", size.unwrap_or(0), by.unwrap_or("none")));
        }
    }
    ensure!(rows.len() > 100, "only {} UVM commands were found", rows.len());
    Ok(rows)
}

/// `UVM_IOCTL_BASE(37)`, `UVM_TEST_IOCTL_BASE(3)`, `0x30000001`.
fn command(value: &str) -> Option<u64> {
    if let Some(n) = value.strip_prefix("UVM_IOCTL_BASE(") {
        return number(n);
    }
    match value.strip_prefix("UVM_TEST_IOCTL_BASE(") {
        Some(n) => number(n).map(|n| n + 200),
        None => number(value),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_of_commands() {
        assert_eq!(super::command("UVM_IOCTL_BASE(37)"), Some(37));
        assert_eq!(super::command("UVM_TEST_IOCTL_BASE(3)"), Some(203));
        assert_eq!(super::command("0x30000001"), Some(0x3000_0001));
        assert_eq!(super::command("UVM_OTHER"), None);
    }
}
