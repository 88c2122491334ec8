//! RM controls. The driver's generated tables register ids, with parameters, privilege and route. The public headers
//! name ids, and FINN's comments there say from which interface and message each is made.

use super::checkout::Checkout;
use super::release::Rows;
use super::text::{between, define, number};
use super::types::Types;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;

/// An entry of a generated table of methods.
struct Method {
    flags: u64,
    rights: u64,
    /// None: it takes none.
    params: Option<String>,
    handler: String,
}

/// A macro of an id: its name, and the type of the parameters of the message that FINN makes it of.
struct Message {
    name: String,
    params: Option<String>,
}

/// The macros of the ids.
#[derive(Default)]
struct Macros {
    /// Those that FINN says are made of an interface and a message.
    composed: BTreeMap<u64, Vec<Message>>,
    /// Bare numbers.
    bare: BTreeMap<u64, Vec<String>>,
}

/// Flags that say something to a caller, with their words here. The privilege is not among them.
const PROPERTIES: [(&str, &str); 8] = [
    ("ROUTE_TO_PHYSICAL", "gsp"),
    ("ROUTE_TO_VGPU_HOST", "vgpu_host"),
    ("CACHEABLE", "cacheable"),
    ("CACHEABLE_BY_INPUT", "cacheable_by_input"),
    ("COPYOUT_ON_ERROR", "copyout_on_error"),
    ("NO_GPUS_LOCK", "no_gpus_lock"),
    ("NO_GPUS_ACCESS", "no_gpus_access"),
    ("RM_TEST_ONLY_CODE", "test_only"),
];

/// `number name parameters bytes privilege properties...`.
pub(super) fn rows(checkout: &Checkout, types: &mut Types<'_>) -> Result<Rows> {
    let flags = flags(&checkout.text("src/nvidia/inc/kernel/rmapi/control.h")?);
    let methods = methods(checkout)?;
    let Macros { composed: messages, bare } = macros(checkout)?;
    ensure!(methods.len() > 1000, "only {} registered controls were found", methods.len());
    ensure!(messages.len() > 1000, "only {} ids of messages were found", messages.len());
    let mut rows = Rows::new();
    for (id, method) in &methods {
        let params = method.params.as_deref();
        let name = messages.get(id).and_then(|m| name(m, params)).or_else(|| bare_name(bare.get(id)?, params?));
        let (name, known) = name.map_or((method.handler.as_str(), false), |name| (name, true));
        let (params, size) = match &method.params {
            Some(params) => (params.as_str(), types.add(params).with_context(|| name.to_owned())?),
            None => ("-", 0),
        };
        let has = |flag: &str| flags.get(flag).is_some_and(|bits| method.flags & bits == *bits);
        let privilege = match () {
            () if has("INTERNAL") => "internal",
            () if has("NON_PRIVILEGED") => "any",
            () if has("PRIVILEGED") => "admin",
            () if has("PRIVILEGED_IF_RS_ACCESS_DISABLED") || method.rights != 0 => "rights",
            () => "kernel",
        };
        let mut row = format!("{name} {params} {size} {privilege}");
        for (_, word) in PROPERTIES.iter().filter(|(flag, _)| has(flag)) {
            row.push(' ');
            row.push_str(word);
        }
        if method.rights != 0 {
            row.push_str(&format!(" rights={:#x}", method.rights));
        }
        if !known {
            row.push_str(" handler");
        }
        rows.insert(format!("{id:#010x}"), row);
    }
    for (id, found) in messages.iter().filter(|(id, _)| !methods.contains_key(id)) {
        let Some(message) = found.iter().find(|m| m.params.is_some()).or(found.first()) else { continue };
        // A command of which FINN has no message any more may still have its struct.
        let params = message.params.clone().unwrap_or_else(|| params_of(&message.name));
        let (params, size) = types.add_optional(&params).map_or(("-", 0), |size| (params.as_str(), size));
        rows.insert(format!("{id:#010x}"), format!("{} {params} {size} unknown unregistered", message.name));
    }
    Ok(rows)
}

/// The name of a registered id. The macro whose message has the registered parameters wins. Else there must be only one
/// macro that is made of a message's id, or only one at all.
fn name<'a>(messages: &'a [Message], params: Option<&str>) -> Option<&'a str> {
    let same = messages.iter().find(|m| m.params.is_some() && m.params.as_deref() == params);
    let mut with_params = messages.iter().filter(|m| m.params.is_some());
    let only = with_params.next().filter(|_| with_params.next().is_none());
    let message = same.or(only).or(match messages {
        [one] => Some(one),
        _ => None,
    });
    message.map(|m| m.name.as_str())
}

/// The name of a registered id whose macro is a bare number: only where its own name says the registered parameters.
fn bare_name<'a>(names: &'a [String], params: &str) -> Option<&'a str> {
    names.iter().find(|name| params_of(name) == params).map(String::as_str)
}

/// The type of parameters that a control's name says.
fn params_of(name: &str) -> String {
    format!("{}_PARAMS", name.replacen("_CTRL_CMD_", "_CTRL_", 1))
}

/// `RMCTRL_FLAGS_*` without the prefix: the bits are others in each branch.
fn flags(text: &str) -> BTreeMap<String, u64> {
    let all = text.lines().filter_map(define).filter_map(|(name, value)| {
        let value = number(value.split("//").next()?)?;
        Some((name.strip_prefix("RMCTRL_FLAGS_")?.to_owned(), value))
    });
    all.filter(|(_, value)| *value != 0).collect()
}

fn methods(checkout: &Checkout) -> Result<BTreeMap<u64, Method>> {
    let mut methods = BTreeMap::new();
    for file in checkout.files("src/nvidia/generated", "_nvoc.c")? {
        let text = checkout.text(&file)?;
        for entry in text.split("/*flags=*/").skip(1) {
            let field = |label: &str| between(entry, label, ",").map(str::trim);
            let context = || format!("{file}: an entry of a table of methods is not understood");
            let size = between(entry, "/*paramSize=*/", "\n").map(|t| t.split("/*").next().unwrap_or(t).trim());
            let method = Method {
                flags: entry.split(',').next().and_then(number).with_context(context)?,
                rights: field("/*accessRight=*/").and_then(number).with_context(context)?,
                params: match size.with_context(context)? {
                    "0" | "0," => None,
                    size => Some(between(size, "sizeof(", ")").with_context(context)?.to_owned()),
                },
                handler: between(entry, "/*func=*/", "\n")
                    .map(|t| t.trim().trim_matches('"').to_owned())
                    .with_context(context)?,
            };
            let id = field("/*methodId=*/").and_then(number).with_context(context)?;
            // An id that several classes of objects register is the same control in each.
            let first: &Method = methods.entry(id).or_insert(method);
            ensure!(first.flags != u64::MAX, context());
        }
    }
    Ok(methods)
}

fn macros(checkout: &Checkout) -> Result<Macros> {
    let mut macros = Macros::default();
    for file in checkout.files("src/common/sdk/nvidia/inc/ctrl", ".h")? {
        let text = checkout.text(&file)?;
        for (name, rest) in text.lines().filter_map(define) {
            let Some(id) = rest.split("/*").next().and_then(number) else { continue };
            let evaluated = between(rest, "finn: Evaluated from \"", "\"").and_then(|made| made.split_once('|'));
            match evaluated.filter(|(interface, _)| interface.contains("INTERFACE_ID << 8)")) {
                Some((_, message)) => {
                    let params = message.trim().strip_suffix("_MESSAGE_ID").map(str::to_owned);
                    macros.composed.entry(id).or_default().push(Message { name: name.to_owned(), params });
                }
                None => macros.bare.entry(id).or_default().push(name.to_owned()),
            }
        }
    }
    Ok(macros)
}

#[cfg(test)]
mod tests {
    use super::{Message, bare_name, flags, name};

    #[test]
    fn names_are_those_of_messages() {
        let message =
            |name: &str, params: Option<&str>| Message { name: name.into(), params: params.map(str::to_owned) };
        let two = [message("A", None), message("B", Some("B_PARAMS"))];
        assert_eq!(name(&two, Some("B_PARAMS")), Some("B"));
        assert_eq!(name(&two, Some("OTHER")), Some("B"));
        let both = [message("A", Some("A_PARAMS")), message("B", Some("B_PARAMS"))];
        assert_eq!(name(&both, Some("OTHER")), None);
        assert_eq!(name(&[message("A", None)], None), Some("A"));
        let bare = ["NV1_CTRL_CMD_POWER".to_owned(), "NV1_CTRL_CMD_COPY".to_owned()];
        assert_eq!(bare_name(&bare, "NV1_CTRL_COPY_PARAMS"), Some("NV1_CTRL_CMD_COPY"));
        assert_eq!(bare_name(&bare, "NV1_CTRL_MOVE_PARAMS"), None);
    }

    #[test]
    fn bits_of_flags() {
        let found = flags("#define RMCTRL_FLAGS_NONE 0x0\n#define RMCTRL_FLAGS_GSP   0x00000040 // routes\n");
        assert_eq!(found.into_iter().collect::<Vec<_>>(), [("GSP".to_owned(), 0x40)]);
    }
}
