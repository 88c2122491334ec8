//! Examples of each command, at the end of its help and in its man page, and its exit codes. Each example is a command
//! line that cutap takes.

/// A command, and lines with their meaning.
const EXAMPLES: [(&str, &[(&str, &str)]); 24] = [
    (
        "",
        &[
            ("cutap ./app", "every call of a program, live"),
            ("cutap record -- python3 train.py", "PyTorch: record into run.cutap"),
            ("cutap explain", "likely problems of that run"),
            ("cutap report --leaks", "what was never freed"),
            ("cutap -Z ./app", "only the calls that fail"),
        ],
    ),
    (
        "trace",
        &[
            ("cutap trace -- python3 train.py", "all calls, on standard error"),
            ("cutap trace -c ./app", "a table of functions at the end"),
            ("cutap trace -e 'cudaMemcpy*[count>=1MiB]' ./app", "large copies"),
        ],
    ),
    (
        "record",
        &[
            ("cutap record -- python3 train.py", "into run.cutap; then cutap report"),
            ("cutap record -o '/scratch/%h.%p.cutap' -- ./app", "named by host and process"),
            ("cutap record --delay 60 --duration 5 ./server", "five seconds of a long run"),
            ("cutap record --flight-recorder 4M ./server", "only the newest calls"),
        ],
    ),
    (
        "run",
        &[
            ("cutap run --inject cuMemAlloc:error=2 -- ./app", "cutap help inject"),
            ("cutap run --hook ./libmine.so -- ./app", "cutap help hooks explains it"),
        ],
    ),
    ("env", &[("cutap env -o DIR", "by eval: traces what a shell starts")]),
    (
        "show",
        &[
            ("cutap show", "the calls of run.cutap"),
            ("cutap show -e '>=1ms' job.cutap", "slow calls"),
            ("cutap show -c", "a table of functions"),
        ],
    ),
    (
        "report",
        &[
            ("cutap report", "functions by time"),
            ("cutap report --errors", "what failed, with the calls around it"),
            ("cutap report --callers 'cudaMemcpy*'", "who copies"),
            ("cutap report --slowest --top 5 job.cutap", "the five longest calls"),
        ],
    ),
    (
        "explain",
        &[("cutap explain", "likely problems of run.cutap"), ("cutap explain --json job.cutap", "for a program")],
    ),
    (
        "view",
        &[
            ("cutap view", "run.cutap as run.html"),
            ("cutap view -o job.html --no-open rank.*.cutap", "a job in one page"),
        ],
    ),
    (
        "where",
        &[
            ("cutap where 4101", "what a program that hangs waits for"),
            ("cutap where run.0.cutap run.1.cutap", "the ranks of a job"),
        ],
    ),
    (
        "top",
        &[
            ("cutap top 4101", "what a program does, each second"),
            ("cutap top --once run.cutap", "sums of the last second, as text"),
        ],
    ),
    ("diff", &[("cutap diff before.cutap after.cutap", "calls, errors and times that differ")]),
    ("chaos", &[("cutap chaos --sim -- ./app", "each call fails once; 1: a finding")]),
    (
        "check",
        &[
            ("cutap check --no-leaks -- ./tests", "run and check; exit code 1 if it leaks"),
            ("cutap check --rules check.toml", "the rules of a file, on run.cutap"),
        ],
    ),
    (
        "export",
        &[
            ("cutap export --perfetto out.pftrace", "a timeline for ui.perfetto.dev"),
            ("cutap export --json calls.jsonl job.cutap", "one object for each call"),
        ],
    ),
    (
        "query",
        &[
            ("cutap query 'select * from errors'", "of run.cutap"),
            ("cutap query tables --csv 'select * from ranks'", "of export --parquet"),
            ("cutap query --list", "tables, columns and worked questions"),
        ],
    ),
    ("recover", &[("cutap recover -o saved.cutap /tmp/cutap-run-1234", "cutap ctl lists runs")]),
    (
        "ctl",
        &[
            ("cutap ctl", "programs that run under cutap"),
            ("cutap ctl 1234 off", "let calls pass unrecorded"),
            ("cutap ctl 1234 dump -o now.cutap", "what a flight recorder holds"),
        ],
    ),
    ("pack", &[("cutap pack saved.cutap", "it becomes smaller and is read faster")]),
    ("inspect", &[("cutap inspect ./app", "its runtimes, and how it calls them")]),
    ("api", &[("cutap api cudaMemcpyAsync", "its parameters"), ("cutap api --list cublas", "all functions")]),
    (
        "syscall",
        &[
            ("cutap syscall trace ./app", "each ioctl with its fields"),
            ("cutap syscall diff 570 580", "what changed between two drivers"),
        ],
    ),
    ("man", &[("cutap man ~/.local/share/man/man1", "then man cutap")]),
    ("completions", &[("cutap completions bash", "in ~/.bashrc: source <(…)")]),
];

/// The examples of a command; of the first screen for an empty name.
pub fn examples(command: &str) -> &'static [(&'static str, &'static str)] {
    EXAMPLES.iter().find(|(name, _)| *name == command).map_or(&[], |(_, lines)| lines)
}

/// The examples in lines, each with its meaning as a comment of the shell. Empty if there are none.
pub fn text(command: &str) -> String {
    let line = |(line, meaning): &(&str, &str)| format!("  {line:<36}  # {meaning}");
    examples(command).iter().map(line).collect::<Vec<_>>().join("\n")
}

/// What the exit codes of a command mean, in lines.
pub fn exit_status(command: &str) -> &'static str {
    match command {
        "" => "That of the command; cutap PROG is cutap trace PROG.",
        "trace" | "record" | "run" | "syscall-trace" | "syscall-getenv" => {
            "That of the program; if a signal ended it, cutap ends by the same signal.\n\
             125  cutap failed, or could not write what it recorded\n\
             126  the program cannot be run\n\
             127  there is no such program"
        }
        "diff" => {
            "0    no difference; with --new-errors: no function fails more often in B\n\
             1    differences\n\
             125  cutap failed, nothing was compared, or a run lacks calls"
        }
        "check" => {
            "0    all rules hold\n\
             1    a rule does not hold\n\
             125  cutap failed; or no rule is broken, and of one it is not known"
        }
        "chaos" => {
            "0    no finding\n\
             1    a crash, a hang, another output or a leak\n\
             125  cutap failed, or no call could be tested"
        }
        "report" | "explain" => {
            "0    the answer was printed; with --exit-code: there is no problem\n\
             1    with --exit-code: there is a problem\n\
             125  cutap failed; with --exit-code also: calls are missing, and the answer is not known"
        }
        _ => "0    the answer was printed\n125  cutap failed; one sentence on standard error says why",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::parse;
    use std::ffi::OsString;

    /// Quotes of a shell are left out: no example has a blank inside them.
    #[test]
    fn each_example_is_a_command_line() {
        for (name, lines) in EXAMPLES {
            assert!(text(name).lines().all(|line| line.chars().count() <= 80), "{}", text(name));
            for (line, _) in lines {
                let words: Vec<OsString> = line.split(' ').skip(1).map(|w| w.trim_matches('\'').into()).collect();
                assert!(parse(&words).is_ok(), "{line}: {:?}", parse(&words).err());
                assert!(name.is_empty() || line.starts_with(&format!("cutap {name}")), "{line}");
            }
        }
    }
}
