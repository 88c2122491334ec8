//! The command line as a new user types it: no command, a slip, flags of strace, help, man pages, completions.

mod support;

use support::{Folder, cutap, err, out, refused, usage_error};

#[test]
fn a_program_without_a_command_is_traced() {
    for args in [&["sh", "-c", "exit 7"][..], &["--", "sh", "-c", "exit 7"], &["-q", "-c", "sh", "-c", "exit 7"]] {
        let done = cutap(args).output().unwrap();
        assert_eq!(done.status.code(), Some(7), "{args:?}: {done:?}");
    }
    refused(&cutap(&["no-such-program-here"]).output().unwrap(), 127, &["no-such-program-here"]);
}

#[test]
fn a_slip_is_refused_with_a_suggestion() {
    let run = |args: &[&str]| cutap(args).output().unwrap();
    usage_error(&run(&["recrod", "true"]), &["'recrod'", "'record'"]);
    usage_error(&run(&["exprt", "true"]), &["'exprt'", "'export'"]);
    refused(&run(&["help", "filtres"]), 125, &["filtres", "did you mean filters?"]);
    // A program of the folder that resembles a command.
    let folder = Folder::new("slips");
    folder.program("apy", b"#!/bin/sh\n");
    refused(&cutap(&["apy"]).current_dir(&folder.0).output().unwrap(), 127, &["did you mean ./apy?"]);
}

/// A word that stands where another is wanted is answered with the command that is meant.
#[test]
fn a_word_in_the_wrong_place() {
    let folder = Folder::new("wrong-place");
    let recording = folder.0.join("a.cutap");
    std::fs::write(&recording, b"CUTAPREC and more").unwrap();
    let run = |args: &[&str]| cutap(args).current_dir(&folder.0).output().unwrap();
    for words in [&["a.cutap"][..], &["trace", "a.cutap"], &["record", "./a.cutap"]] {
        refused(&run(words), 125, &["a.cutap is a recording, not a program", "cutap show"]);
    }
    refused(&run(&["report", "leaks"]), 125, &["did you mean cutap report --leaks?"]);
    refused(&run(&["report", "--slowest", "4194305"]), 125, &["--slowest takes no number", "--slowest --top 4194305"]);
    refused(&run(&["help", "slowest"]), 125, &["cutap report --slowest"]);
    refused(&run(&["help", "cuMemAlloc_v2"]), 125, &["cutap api cuMemAlloc_v2"]);
    refused(&run(&["stats"]), 125, &["cutap report"]);
    refused(&run(&["ctl", "status"]), 125, &["write cutap ctl PID status"]);
}

/// Each flag of strace works, or is answered with one sentence.
#[test]
fn strace_flags() {
    let run = |args: &[&str]| cutap(args).output().unwrap();
    for (flags, said) in
        [(&["-f"][..], "-f: children are followed by default"), (&["-T"], "-T: times are printed by default")]
    {
        let mut args = flags.to_vec();
        args.extend(["sh", "-c", "exit 3"]);
        let done = run(&args);
        assert_eq!(done.status.code(), Some(3), "{done:?}");
        assert_eq!(err(&done).matches(said).count(), 1, "{done:?}");
    }
    for flags in [
        &["-q"][..],
        &["-t"],
        &["-tt"],
        &["-r"],
        &["-k"],
        &["-v"],
        &["-z"],
        &["-Z"],
        &["-s", "99"],
        &["-e", "cuda*", "-e", "error"],
    ] {
        let mut args = flags.to_vec();
        args.extend(["sh", "-c", "exit 3"]);
        assert_eq!(run(&args).status.code(), Some(3), "{flags:?}");
    }
    refused(&run(&["-p", "1", "true"]), 125, &["-p 1", "cannot attach to a running program", "cutap ctl"]);
    for words in [&["-p", "18076"][..], &["trace", "-p", "18076"], &["record", "-p", "18076"]] {
        refused(&run(words), 125, &["cutap: -p 18076: cutap cannot attach to a running program"]);
    }
    usage_error(&run(&["record"]), &["<PROG>..."]);
    refused(&run(&["-E", "LD_PRELOAD=x", "true"]), 125, &["LD_PRELOAD", "cutap sets this variable itself"]);
    refused(&run(&["-E", "=x", "true"]), 125, &["names no variable"]);
}

#[test]
fn variables_of_the_program() {
    let script = "printf '%s|%s|%s' \"$CUTAP_A\" \"${CUTAP_B-unset}\" \"$CUTAP_C\"";
    let args = ["-E", "CUTAP_A=new", "-E", "CUTAP_B", "-E", "CUTAP_C=1", "-E", "CUTAP_C=a=b", "sh", "-c", script];
    let done = cutap(&args).env("CUTAP_A", "old").env("CUTAP_B", "there").output().unwrap();
    assert_eq!(out(&done), "new|unset|a=b", "{done:?}");
}

#[test]
fn help_and_version() {
    let text = |args: &[&str]| {
        let done = cutap(args).output().unwrap();
        assert!(done.status.success(), "{done:?}");
        out(&done)
    };
    assert!(text(&["help"]).contains("cutap [TRACE FLAGS] [--] PROG"));
    assert!(text(&["help", "record"]).contains("Usage: cutap record"));
    for topic in ["filters", "output", "files", "inject", "hooks", "environment", "strace"] {
        assert!(text(&["help", topic]).starts_with(&topic.to_uppercase()), "{topic}");
    }
    let filters = text(&["trace", "--help"]);
    assert!(filters.contains("\nFilters, terms with commas"), "{filters}");
    // Two screens of a terminal, in the widths that terminals have.
    for columns in ["100", "160"] {
        let done = cutap(&["trace", "--help"]).env("COLUMNS", columns).env("LINES", "30").output().unwrap();
        assert!(out(&done).lines().count() <= 60, "{}", out(&done));
    }
    let version = text(&["--version"]);
    assert!(version.contains("(commit ") && version.contains("CUDA 11.7 to 13."), "{version}");
}

/// Each layer and each word that adds calls has a page; a layer that is a command too has both.
#[test]
fn layers_are_explained() {
    let text = |args: &[&str]| out(&cutap(args).output().unwrap());
    let filters = text(&["help", "filters"]);
    for word in ["library", "runtime", "driver", "hidden", "syscall", "submit", "lookup", "cxx"] {
        assert!(filters.contains(&format!("\n    {word} ")), "{word}: {filters}");
        let page = text(&["help", word]);
        assert!(page.contains(&format!("cutap -e {word} ./app")), "{word}: {page}");
    }
    assert!(text(&["help", "syscall"]).contains("Usage: cutap syscall"));
    refused(&cutap(&["help", "hiden"]).output().unwrap(), 125, &["did you mean hidden?"]);
}

/// No other command's flag is passed to the program by an unknown flag's tip.
#[test]
fn an_unknown_flag_names_the_commands_that_have_it() {
    let run = |args: &[&str]| cutap(args).output().unwrap();
    let other = run(&["report", "-o", "x"]);
    usage_error(&other, &["unexpected argument '-o'", "cutap report has no '-o'; these have: trace, record, env"]);
    let none = run(&["--sim", "--nope", "true"]);
    usage_error(&none, &["cutap help trace lists the flags of cutap trace"]);
    for done in [other, none] {
        assert!(!err(&done).contains("use '--"), "{done:?}");
    }
    usage_error(&run(&["-sim", "true"]), &["tip: --sim has two dashes"]);
    usage_error(&run(&["-P", "true"]), &["cutap help strace"]);
    usage_error(&run(&["syscall", "env", "true"]), &["env is called getenv"]);
    usage_error(&run(&["syscall", "where", "lib.so"]), &["where is called sites"]);
    for command in ["trace", "getenv"] {
        let done = run(&["syscall", command, "--sim", "true"]);
        usage_error(&done, &["the simulated driver makes no calls to the kernel driver"]);
        assert!(!err(&done).contains("these have"), "{done:?}");
    }
    usage_error(&run(&["report", "--error"]), &["a similar argument exists: '--errors'"]);
}

/// What the shell offers after these words.
fn offered(words: &[&str]) -> Vec<String> {
    let mut command = cutap(&["--", "cutap"]);
    command.args(words).env("CUTAP_COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", words.len().to_string());
    out(&command.env("_CLAP_IFS", "\n").output().unwrap()).lines().map(str::to_owned).collect()
}

#[test]
fn completions_offer_what_cutap_takes() {
    assert_eq!(offered(&["help", "fil"]), ["filters", "files"]);
    assert_eq!(offered(&["report", "--sl"]), ["--slowest"]);
    for words in [&["trace", "--only"][..], &["record", "--rang"], &["report", "--sync"], &["report", "--raw"], &["__"]]
    {
        assert_eq!(offered(words), [""; 0], "{words:?}");
    }
    assert!(offered(&["trace", "-e", "cudaMallocA"]).contains(&"cudaMallocAsync".to_owned()));
    assert!(offered(&["trace", "-e", "error,!cublasSgemmB"]).contains(&"error,!cublasSgemmBatched".to_owned()));
    assert!(offered(&["trace", "--", "sh"]).contains(&"sh".to_owned()));
    assert!(offered(&["ex"]) == ["explain", "export"]);
}

/// Words of coming commands, and those that users try, start no program.
#[test]
fn reserved_words() {
    let folder = Folder::new("reserved");
    folder.program("leaks", b"#!/bin/sh\necho ran\n");
    let run = |args: &[&str]| cutap(args).env("PATH", &folder.0).output().unwrap();
    for (word, advice) in [("replay", "cutap show"), ("leaks", "cutap report --leaks"), ("merge", "several recordings")]
    {
        refused(&run(&[word]), 125, &[advice, &format!("cutap -- {word} runs a program")]);
    }
    assert_eq!(out(&run(&["-q", "--", "leaks"])), "ran\n");
}

/// A tip names a flag that is meant, or none.
#[test]
fn tips_do_not_mislead() {
    let run = |args: &[&str]| cutap(args).output().unwrap();
    usage_error(&run(&["report", "--alloc"]), &["'--allocations'"]);
    usage_error(&run(&["report", "--s"]), &["cutap help report lists"]);
    usage_error(&run(&["report", "--lea"]), &["'--leaks'"]);
    assert!(err(&run(&["trace", "--inject", "x", "true"])).contains("cudaMalloc:error="));
    usage_error(&run(&["trace", "--st", "true"]), &["'--stack', '--stack-size'"]);
    assert!(!err(&run(&["trace", "--inject", "x", "true"])).contains("--quiet"));
}

/// With -q only the program's output and the table are printed.
#[test]
fn quiet_tables() {
    for (flags, head) in [(&["-q", "-c"][..], "function  "), (&["-C", "-q"], "")] {
        for program in [&["true"][..], &["-e", "cuMemAlloc*", "true"]] {
            let done = cutap(&[flags, program].concat()).output().unwrap();
            assert!(err(&done).starts_with(head) && !err(&done).contains("cutap: "), "{flags:?}: {done:?}");
        }
    }
}

/// Each example of `cutap help filters` is a filter.
#[test]
fn examples_of_the_filter_page_parse() {
    let folder = Folder::new("filter-page");
    let page = out(&cutap(&["help", "filters"]).output().unwrap());
    let mut seen = 0;
    for line in page.lines().filter(|line| line.starts_with("    cutap -e ")) {
        let filter = line.trim_start_matches("    cutap -e ").split(" ./app").next().unwrap().trim_matches('\'');
        let done = cutap(&["env", "-e", filter, "-o"]).arg(folder.join(&format!("run{seen}"))).output().unwrap();
        assert!(done.status.success(), "{filter}: {done:?}");
        seen += 1;
    }
    assert!(seen >= 8, "{seen} examples in {page}");
}

#[test]
fn man_pages_and_completions() {
    let folder = Folder::new("man");
    assert!(cutap(&["man"]).arg(&folder.0).status().unwrap().success());
    let page = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    assert!(page("cutap-record.1").contains("cutap\\-record") && page("cutap.1").contains("which calls are recorded"));
    // Each page that is referred to exists.
    for entry in std::fs::read_dir(&folder.0).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        assert!(text.contains(".SH \"EXIT STATUS\""), "{text}");
        for line in text.lines().filter(|line| line.ends_with("(1)") && !line.starts_with('.')) {
            let name = line.trim_end_matches("(1)").replace("\\-", "-");
            assert!(folder.join(&format!("{name}.1")).is_file(), "{line}");
        }
    }
    assert!(page("cutap-record.1").contains("EXAMPLES") && page("cutap-syscall-trace.1").contains("no such program"));
    for shell in ["bash", "zsh", "fish"] {
        let done = cutap(&["completions", shell]).output().unwrap();
        assert!(done.status.success() && out(&done).contains("CUTAP_COMPLETE"), "{shell}: {done:?}");
    }
    usage_error(&cutap(&["completions", "csh2"]).output().unwrap(), &["'csh2'", "bash"]);
}
