//! `test`: all that CI runs, stage after stage. A failed stage does not keep the later ones from
//! telling what they know. What a test says that it skipped is shown, although cargo hides the words of
//! a test that passes. The last line sums up all tests.

use crate::build::{cargo, output, release, run};
use crate::{codegen, dist, engines, tidy};
use anyhow::{Result, bail, ensure};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Passed and failed tests, and the lines in which a test says what it skipped.
#[derive(Default)]
struct Sum {
    passed: u64,
    failed: u64,
    skipped: Vec<String>,
}

/// Words for cargo that choose the tests that need no finished `cutap`.
const UNIT_TESTS: [&str; 4] = ["test", "--workspace", "--exclude", "cutap-e2e"];

pub(crate) fn run_all(root: &Path, large: bool) -> Result<()> {
    let start = Instant::now();
    let mut sum = Sum::default();
    let mut failed = Vec::new();
    let mut stage = |name: &'static str, work: &mut dyn FnMut() -> Result<()>| {
        println!("== {name}");
        let since = Instant::now();
        let outcome = work();
        if let Err(error) = &outcome {
            println!("{error:#}");
            failed.push(name);
        }
        let word = if outcome.is_ok() { "ok" } else { "FAILED" };
        println!("== {name}: {word}, {:.1} s", since.elapsed().as_secs_f64());
    };
    stage("fmt", &mut || run(cargo(root).args(["fmt", "--all", "--check"])));
    stage("clippy", &mut || {
        let all = ["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"];
        run(cargo(root).args(all))
    });
    stage("doc", &mut || {
        let all = ["doc", "--quiet", "--workspace", "--no-deps", "--document-private-items"];
        run(cargo(root).args(all).env("RUSTDOCFLAGS", "-D warnings"))
    });
    // The unit tests' build has the program. Built alone, its crates have fewer features, and would be built twice.
    stage("codegen, with the build of the unit tests", &mut || {
        codegen::run(root, true, &[&UNIT_TESTS[..], &["--no-run"]].concat())
    });
    stage("tidy", &mut || tidy::run(root));
    // They judge what a GPU says, and need none themselves.
    stage("rules of the tests on a GPU", &mut || {
        run(Command::new("python3").arg("-B").arg(root.join("tests/gpu/test_rules.py")))
    });
    let test = |words: &[&str]| {
        let mut command = cargo(root);
        command.args(words);
        if large {
            command.env("CUTAP_LARGE", "1");
        }
        command
    };
    stage("unit tests", &mut || tests(&mut test(&UNIT_TESTS), &mut sum));
    stage("ring: writer and collector in all orders", &mut || {
        tests(&mut test(&["test", "--package", "cutap-wire", "--features", "loom", "--test", "loom"]), &mut sum)
    });
    // A debug build takes several times as long, for all of them. The libraries that cutap carries are built as users
    // get them. Without the optimisation across crates the rest is built in half the time; `--large` has it.
    stage("release build", &mut || {
        let mut build = cargo(root);
        build.args(["build", "--quiet", "--release", "--package", "cutap"]);
        if !large {
            build.env("CARGO_PROFILE_RELEASE_LTO", "off").env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
        }
        run(&mut build)
    });
    stage("programs on the simulated driver", &mut || {
        let mut all = test(&["test", "--package", "cutap-e2e"]);
        // Most of their time they wait for programs.
        let threads = std::thread::available_parallelism().map_or(4, |cores| 2 * cores.get());
        all.env("CUTAP_BIN", release(root).join("cutap")).env("RUST_TEST_THREADS", threads.to_string());
        tests(&mut all, &mut sum)
    });
    if large {
        // Libraries' wheels are gigabytes: their headers are compared by whoever imports them.
        stage("api/ and NVIDIA's headers", &mut || match cutap_import::ready() {
            Ok(()) => cutap_import::check(root, &["driver", "runtime"]),
            Err(error) => {
                println!("skipped: {error:#}");
                Ok(())
            }
        });
    }
    if large {
        stage("pages of cutap view in a browser", &mut || {
            let mut script = Command::new("python3");
            script.arg("-B").arg(root.join("tests/browser/view.py"));
            run(script.arg(release(root).join("cutap")).arg(root.join("target/e2e/gpu_work")))
        });
        stage("tables by other engines", &mut || engines::compare(root));
        stage("the program as it is released", &mut || released(root));
        stage("packages in fresh roots of Debian", &mut || dist::try_packages(root));
    }
    for line in &sum.skipped {
        println!("{line}");
    }
    println!("== all stages: {:.1} s", start.elapsed().as_secs_f64());
    println!("{} passed, {} failed", sum.passed, sum.failed);
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    Ok(())
}

/// The program that users get is one file below a size, and answers immediately.
fn released(root: &Path) -> Result<()> {
    const LARGEST: u64 = 30 << 20;
    const LONGEST: Duration = Duration::from_millis(50);
    let program = release(root).join("cutap");
    let size = program.metadata()?.len();
    let ask = || {
        let begin = Instant::now();
        output(Command::new(&program).args(["api", "--list", "driver"])).map(|_| begin.elapsed())
    };
    let mut best = ask()?;
    for _ in 0..9 {
        best = best.min(ask()?);
    }
    println!("{size} bytes; api --list answers in {:.1} ms", best.as_secs_f64() * 1e3);
    ensure!(size < LARGEST, "{} is larger than 30 MiB", program.display());
    ensure!(best < LONGEST, "api --list takes longer than 50 ms");
    Ok(())
}

/// The same command with the usual signals as they are at a terminal: a shell starts a job in the background with
/// SIGINT ignored, and nohup ignores SIGHUP, which programs inherit and tests of signals would see.
fn with_signals(command: &Command) -> Command {
    let mut with = Command::new("env");
    with.arg("--default-signal=HUP,INT,QUIT,TERM").arg(command.get_program()).args(command.get_args());
    with.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(folder) = command.get_current_dir() {
        with.current_dir(folder);
    }
    with
}

/// Runs `cargo test`, shows what it prints, and counts.
fn tests(command: &mut Command, sum: &mut Sum) -> Result<()> {
    command.args(["--no-fail-fast", "--", "--show-output"]);
    let mut child = with_signals(command).stdout(Stdio::piped()).spawn()?;
    let Some(stdout) = child.stdout.take() else { bail!("cargo test has no output") };
    let mut passed_tests_speak = false;
    for line in BufReader::new(stdout).lines() {
        let line = line?;
        passed_tests_speak = match line.as_str() {
            "successes:" => true,
            "failures:" => false,
            _ => passed_tests_speak && !line.starts_with("test result: "),
        };
        if !passed_tests_speak {
            println!("{line}");
        } else if is_skip(&line) {
            sum.skipped.push(line.clone());
        }
        if let Some((passed, failed)) = counts(&line) {
            sum.passed += passed;
            sum.failed += failed;
        }
    }
    let status = child.wait()?;
    ensure!(status.success(), "{command:?} failed: {status}");
    Ok(())
}

fn is_skip(line: &str) -> bool {
    line.get(..7).is_some_and(|word| word.eq_ignore_ascii_case("skipped"))
}

/// The numbers of a line like `test result: ok. 3 passed; 0 failed; 0 ignored; ...`.
fn counts(line: &str) -> Option<(u64, u64)> {
    let (_, numbers) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let of = |word: &str| numbers.split("; ").find_map(|part| part.strip_suffix(word)?.trim().parse().ok());
    Some((of("passed")?, of("failed")?))
}

#[cfg(test)]
mod tests {
    use super::{counts, is_skip};

    #[test]
    fn closing_lines() {
        let line = "test result: ok. 8 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s";
        assert_eq!(counts(line), Some((8, 0)));
        assert_eq!(counts("test result: FAILED. 1 passed; 2 failed; 0 ignored"), Some((1, 2)));
        assert_eq!(counts("test a ... ok"), None);
        assert!(
            is_skip("skipped: no gdb here") && is_skip("SKIPPED: x") && !is_skip("skip") && !is_skip("test a ... ok")
        );
    }
}
