//! Parts of a line of text that depend on one event alone.

use crate::label::library_of;
use cutap_trace::{Call, Layer, Lookup};

/// The tag in brackets; driver calls have none.
pub fn tag(call: &Call, to: &mut String) {
    to.push('[');
    to.push_str(library_of(call));
    if let (Layer::RUNTIME, Some(version)) = (call.function.layer, call.runtime_version()) {
        to.push_str(", runtime ");
        to.push_str(version);
    }
    to.push(']');
}

/// A look-up as it was asked for.
pub fn asked(lookup: &Lookup) -> String {
    use cutap_trace::LookupKind::*;
    let (name, word) = (lookup.name.replace('"', "\\\""), lookup.kind.word());
    match lookup.kind {
        Dlsym | Dlvsym => {
            let handle = match lookup.handle {
                0 => "RTLD_DEFAULT".to_owned(),
                u64::MAX => "RTLD_NEXT".to_owned(),
                handle => format!("{handle:#x}"),
            };
            format!("{word}({handle}, \"{name}\")")
        }
        GetProcAddress | GetProcAddressV2 => format!("{word}(\"{name}\", {}, {:#x})", lookup.handle, lookup.flags),
        GetExportTable => format!("{word}({name})"),
        Other(which) => format!("look-up {which}(\"{name}\")"),
    }
}
