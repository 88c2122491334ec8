//! Parts of a line of text that depend on one event alone.

use crate::format::label::{library_of, short_library};
use cutap_trace::{Call, End, Layer, Lookup, printable};

/// The tag in brackets; driver calls have none.
pub fn tag(call: &Call, to: &mut String) {
    if is_default_domain(call) {
        return;
    }
    to.push('[');
    to.push_str(library_of(call));
    if let (Layer::RUNTIME, Some(version)) = (call.function.layer, call.runtime_version()) {
        to.push_str(", runtime ");
        to.push_str(version);
    }
    to.push(']');
}

/// The tag on a terminal: nothing for the driver, for a shared runtime and for the program itself, and nothing that the
/// name of the function says already.
pub fn brief_tag(call: &Call, to: &mut String) {
    let library = library_of(call);
    let short = short_library(library);
    let is_clear = match call.function.layer {
        Layer::DRIVER => true,
        Layer::NVTX => is_default_domain(call),
        Layer::RUNTIME => {
            call.instance().is_some_and(|instance| instance.shared) || is_program(&call.thread.process.exe, library)
        }
        _ => call.function.name.get(..short.len()).is_some_and(|start| start.eq_ignore_ascii_case(short)),
    };
    if !is_clear {
        to.push('[');
        to.push_str(short);
        to.push(']');
    }
}

/// A range of no domain of NVTX that has a name.
fn is_default_domain(call: &Call) -> bool {
    call.function.layer == Layer::NVTX && *call.function.library == *Layer::NVTX.name()
}

fn is_program(exe: &str, library: &str) -> bool {
    exe.rsplit('/').next() == Some(library)
}

/// What the short names on a terminal stand for.
pub fn legend(end: &End) -> Vec<String> {
    let mut lines = Vec::new();
    let mut push_line = |line: String| {
        if !lines.contains(&line) {
            lines.push(line);
        }
    };
    for instance in &end.processes.instances {
        let version = instance.version.as_deref().unwrap_or("of unknown version");
        let library = printable(&instance.library);
        let is_own = is_program(&instance.process.exe, &instance.library);
        match instance.shared || is_own {
            true => {
                push_line(format!("without -v, a runtime call without a tag is one of {library}, runtime {version}"))
            }
            false => push_line(format!(
                "without -v, [{}] before a runtime call is {library}, runtime {version}",
                short_library(&library)
            )),
        }
    }
    if !lines.is_empty() {
        lines.push("without -v, threads of one process have their TID in front, threads of several PID/TID".to_owned());
    }
    lines
}

/// A look-up as it was asked for.
pub fn lookup_text(lookup: &Lookup) -> String {
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
