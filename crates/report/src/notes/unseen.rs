//! The last lines of a run without calls: no call at all, a process with the driver and no call, or a nested cutap
//! that took the calls.

use cutap_trace::{End, Process, printable};

/// The largest number of processes in a line.
const FEW: usize = 3;
/// The document that explains it.
const SEE: &str = "see docs/explanation/limits.md";

/// The lines, without the `cutap: ` before each.
pub fn unseen_lines(end: &End) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(match end.coverage.inner {
        0 => None,
        1 => Some(
            "another cutap was started inside this one: calls of what it started went there, and are not here"
                .to_owned(),
        ),
        n => Some(format!(
            "{n} cutaps were started inside this one: calls of what they started went there, and are not here"
        )),
    });
    lines.extend(end.without_driver().map(|entered| without_driver(entered, end.coverage.children_left)));
    lines.extend(without_calls(end));
    if end.filter_left_nothing() && end.filtered.is_none() {
        lines.push("nothing was recorded: no call that the filter of this run wants was seen".to_owned());
    }
    lines
}

/// The line about programs that were started with a cleaned environment. A run without a call has a line that names
/// them too.
pub fn cleaned_line(end: &End) -> Option<String> {
    let programs = match end.coverage.cleaned {
        0 => return None,
        1 => "1 program was".to_owned(),
        n => format!("{n} programs were"),
    };
    end.without_driver().is_none().then(|| {
        format!(
            "{programs} started with LD_PRELOAD or CUTAP_RUN taken out of the environment (env -i, sudo): \
             calls in such programs were not seen"
        )
    })
}

/// The line of a run without a process that has loaded the driver.
fn without_driver(entered: u32, children_left: bool) -> String {
    let reached = match entered {
        0 => "cutap was loaded into no program of this run".to_owned(),
        1 => "no CUDA call was seen: cutap was loaded into 1 program, which is not known to have loaded libcuda.so.1"
            .to_owned(),
        n => format!(
            "no CUDA call was seen: cutap was loaded into {n} programs, none of which is known to have loaded \
             libcuda.so.1"
        ),
    };
    let children = if children_left { "; children were left alone (--no-follow-children)" } else { "" };
    format!(
        "{reached}; cutap does not get into a program that is statically linked, setuid or built for musl, that is \
         started with a cleaned environment (env -i, sudo) or another LD_PRELOAD, or that cannot write to the run \
         directory (another user, another mount namespace, a read-only mount){children}; {SEE}"
    )
}

/// The line about processes that have loaded the driver and made no call.
fn without_calls(end: &End) -> Option<String> {
    let processes = end.without_calls();
    let name = |p: &&Process| format!("{} (process {})", printable(p.exe.rsplit('/').next().unwrap_or(&p.exe)), p.pid);
    let mut names = processes.iter().take(FEW).map(name).collect::<Vec<_>>().join(", ");
    if processes.len() > FEW {
        names += &format!(" and {} more", processes.len() - FEW);
    }
    let they = if processes.len() == 1 { "it" } else { "they" };
    (!processes.is_empty()).then(|| {
        format!(
            "libcuda.so.1 was loaded in {names}, and no call was seen there: {they} made none, or read the addresses \
             of the functions from the library's symbol table; {SEE}"
        )
    })
}
