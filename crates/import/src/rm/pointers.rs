//! Embedded pointers: fields of a control's parameters that lead to further memory of the caller. The driver lists them
//! in one source file, with the field that counts the elements and their type.

use super::checkout::Checkout;
use super::release::Rows;
use super::text::{arguments, between, plain};
use super::types::Types;
use anyhow::{Result, ensure};

/// `struct.field element count direction`.
pub(super) fn rows(checkout: &Checkout, types: &mut Types<'_>) -> Result<Rows> {
    let text = plain(&checkout.text("src/nvidia/src/kernel/rmapi/embedded_param_copy.c")?);
    let mut rows = Rows::new();
    for case in text.split("case ").skip(1) {
        let mut rest = case;
        while let Some((_, call)) = rest.split_once("RMAPI_PARAM_COPY_INIT(") {
            let Some((words, after)) = arguments(call) else { break };
            rest = after;
            let [copy, pointer, _, count, element] = words[..] else { continue };
            let (Some((record, field)), Some(count)) = (member(pointer), count_of(count)) else { continue };
            let element = match between(element, "sizeof(", ")") {
                Some(name) => types.add_optional(name).map(|_| name),
                None => (element == "1").then_some("u8"),
            };
            let Some(element) = element else { continue };
            if types.add_optional(record).is_none() {
                continue;
            }
            let skips = |what: &str| case.contains(&format!("{copy}.flags |= RMAPI_PARAM_COPY_FLAGS_SKIP_{what}"));
            let direction = match (skips("COPYIN"), skips("COPYOUT")) {
                (true, _) => "out",
                (_, true) => "in",
                _ => "inout",
            };
            rows.insert(format!("{record}.{field}"), format!("{element} {count} {direction}"));
        }
    }
    ensure!(rows.len() > 25, "only {} embedded pointers were found", rows.len());
    Ok(rows)
}

/// `((TYPE*)pParams)->a.b`: type and field.
fn member(text: &str) -> Option<(&str, &str)> {
    let (head, field) = text.split_once(")pParams)->")?;
    let record = head.trim_start_matches('(').trim_end_matches(['*', ' ']);
    Some((record, field.trim()))
}

/// The field that counts, or a number.
fn count_of(text: &str) -> Option<&str> {
    match member(text) {
        Some((_, field)) => Some(field),
        None => text.bytes().all(|b| b.is_ascii_digit()).then_some(text),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn members() {
        assert_eq!(super::member("((A_PARAMS*)pParams)->list"), Some(("A_PARAMS", "list")));
        assert_eq!(super::count_of("((A_PARAMS *)pParams)->n"), Some("n"));
        assert_eq!(super::count_of("numEntries"), None);
        assert_eq!(super::count_of("1"), Some("1"));
    }
}
