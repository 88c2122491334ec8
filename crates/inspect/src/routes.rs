//! What follows for a trace: which route catches what, what none of them does, and what else to know.
//! One rule a paragraph; docs/explanation/limits.md says the same in prose.

use crate::report::{Kind, Report, Route};
use cutap_calls::{Role, function_with};

pub(crate) fn judge(report: &mut Report) {
    if !can_be_entered(report) {
        return;
    }
    itself(report);
    bindings(report);
    runtime(report);
    opened(report);
    inside(report);
    oddities(report);
}

/// Whether the preload gets into it at all.
fn can_be_entered(report: &mut Report) -> bool {
    if report.machine != "x86-64" {
        let machine = &report.machine;
        let gap = format!(
            "all of it: it is for {machine}, and cutap's library for x86-64 programs; a trace needs an x86-64 build of it"
        );
        report.not_seen.push(gap);
        return false;
    }
    match report.kind {
        Kind::Static => {
            let gap = "all of it: a static program has no dynamic loader that could load cutap's library; \
                        link it without -static (a static CUDA runtime is no hindrance)";
            report.not_seen.push(gap.to_owned());
            false
        }
        Kind::Other => {
            let gap = "all of it: it is neither run nor loaded as it is; inspect what is linked from it";
            report.not_seen.push(gap.to_owned());
            false
        }
        Kind::Program if report.facts.interpreter.as_deref().is_some_and(is_musls) => {
            let gap = "all of it: it is built for musl, and cutap's library works with glibc alone: it would run untraced; \
                        build it for glibc";
            report.not_seen.push(gap.to_owned());
            false
        }
        Kind::Program => {
            report.not_seen.extend(report.rights.iter().map(|mark| gains_rights(mark)));
            true
        }
        Kind::Library => true,
    }
}

/// Whether a loader's path is that of musl's.
fn is_musls(loader: &str) -> bool {
    loader.rsplit('/').next().is_some_and(|name| name.starts_with("ld-musl-"))
}

/// Who cannot trace a program with this mark: the loader takes nothing from the environment of
/// somebody who gains rights by it.
fn gains_rights(mark: &str) -> String {
    let (whom, why, instead) = match mark {
        "setuid" => {
            ("any user but its owner", "it is setuid", "run cutap as its owner, or trace a copy without the bit")
        }
        "setgid" => {
            let instead = "run cutap with that group, or trace a copy without the bit";
            ("any user whose group is not the file's", "it is setgid", instead)
        }
        _ => {
            let instead = "run cutap as root, or trace a copy without them (cp drops them)";
            ("any user but root", "its file has capabilities (getcap shows them)", instead)
        }
    };
    format!("all of it, for {whom}: {why}, and the loader then ignores LD_PRELOAD; {instead}")
}

/// What the file is to cutap.
fn itself(report: &mut Report) {
    let soname = report.soname.as_deref().unwrap_or("");
    if let Some(layer) = crate::report::layer(soname) {
        let message =
            format!("it is watched ({layer}): calls into it from other files are seen, known functions or not");
        report.notes.push(message);
    } else if cutap_calls::is_profiler(soname.as_bytes()) {
        let message = "it is a profiler: it gets the driver's own tables, and its calls are not shown";
        report.notes.push(message.to_owned());
    }
}

/// Relocated words.
fn bindings(report: &mut Report) {
    let count = report.functions.len();
    if count == 0 && report.links.is_empty() {
        return;
    }
    let total = |kind: &str| report.functions.iter().filter_map(|f| f.words.get(kind)).sum::<u32>();
    let kinds: Vec<String> = [("plt", "in the PLT"), ("got", "in the GOT"), ("data", "in data")]
        .iter()
        .filter(|(kind, _)| total(kind) > 0)
        .map(|(kind, place)| format!("{} {place}", total(kind)))
        .collect();
    let words = if kinds.is_empty() { String::new() } else { format!(" (words: {})", kinds.join(", ")) };
    let catches = match count {
        0 => "nothing here: it names none of their functions to the loader".to_owned(),
        1 => format!("one function that the loader binds{words}"),
        _ => format!("{count} functions that the loader binds{words}"),
    };
    report.routes.push(Route { route: "bindings", catches });
    if report.functions.iter().any(|f| f.address_taken) {
        let message =
            "a non-PIE program that takes a function's address uses its own PLT entry: calls through it are seen";
        report.notes.push(message.to_owned());
    }
    if total("copy") > 0 {
        report.notes.push("data of a watched library is copied into the program: data is never diverted".to_owned());
    }
}

/// The runtime's own callbacks, static or shared.
fn runtime(report: &mut Report) {
    let shared = report.links.iter().find(|l| l.layer == "runtime").map(|l| l.library.clone());
    if report.runtimes.is_empty() && shared.is_none() {
        return;
    }
    let inside = if report.facts.exports_runtime { "exported by this file" } else { "linked into this file" };
    let mut sources: Vec<String> = report.runtimes.iter().map(|v| format!("runtime {v} {inside}")).collect();
    sources.extend(shared);
    let catches = format!("every call to the CUDA API of {}, by name", sources.join(" and "));
    report.routes.push(Route { route: "callback table", catches });
    let catches = "the driver calls that the runtime makes".to_owned();
    report.routes.push(Route { route: const { function_with(Role::ProcAddress) }, catches });
    if !report.runtimes.is_empty() && !report.facts.exports_runtime {
        let gap = "__cudaRegister*, __cudaPushCallConfiguration and the like of the runtime inside: no callback exists \
                    for them; launches show the kernel's name all the same";
        report.not_seen.push(gap.to_owned());
    }
}

/// Libraries opened by name.
fn opened(report: &mut Report) {
    if report.opens.is_empty() {
        return;
    }
    let catches = format!("what it looks up in {}", report.opens.join(", "));
    report.routes.push(Route { route: "dlsym", catches });
    if report.kind == Kind::Library {
        report
            .notes
            .push("calls of its constructors, when it is itself opened by dlopen, are listed as late".to_owned());
    }
}

/// What was linked in.
fn inside(report: &mut Report) {
    if report.static_toolkits.is_empty() {
        return;
    }
    let gap = format!(
        "calls to {}: linked in statically, they are jumps inside the file; the runtime and driver calls below them are seen",
        report.static_toolkits.join(", ")
    );
    report.not_seen.push(gap);
}

/// Rare shapes that matter to bindings.
fn oddities(report: &mut Report) {
    let facts = &report.facts;
    if facts.textrel {
        let gap = "words in its executable pages (TEXTREL): they are left alone and listed; build it with -fPIC";
        report.not_seen.push(gap.to_owned());
    }
    if facts.old_hash_only {
        report.notes.push("its symbols are hashed by DT_HASH alone; they are found all the same".to_owned());
    }
    if !facts.ifuncs.is_empty() && report.soname.as_deref().and_then(crate::report::layer).is_some() {
        let names = facts.ifuncs.join(", ");
        report.notes.push(format!("IFUNC {names}: the function that the library chose is what is traced"));
    }
    if report.routes.is_empty() && report.not_seen.is_empty() && report.notes.is_empty() {
        let gap = match report.kind {
            Kind::Program => {
                "it does not reach CUDA itself; libraries that it loads may, and are seen in a trace of it"
            }
            _ => "it does not reach CUDA itself",
        };
        report.notes.push(gap.to_owned());
    }
}
