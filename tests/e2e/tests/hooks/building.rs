//! Builds the hook libraries and programs of `tests/programs/hooks`, and runs one under the other.

use crate::real::{self, Runtime};
use cutap_e2e::{Finished, cutap, finish, out, sources};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs};

/// A hook library in C or C++ of that name.
pub fn hook(name: &str) -> PathBuf {
    hook_as(name, name, &[])
}

/// The same under another name, with these words for the compiler.
pub fn hook_as(source: &str, name: &str, words: &[&str]) -> PathBuf {
    let cpp = sources().join(format!("hooks/{source}.cpp"));
    let (compiler, standard, source) = match cpp.exists() {
        true => ("g++", "-std=gnu++17", cpp),
        false => ("gcc", "-std=gnu17", sources().join(format!("hooks/{source}.c"))),
    };
    let mut gcc = Command::new(compiler);
    gcc.args([standard, "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-I"]).arg(header());
    gcc.args(words);
    compile(gcc, &source, &format!("{name}.so"), &[])
}

/// The folder of `cutap_hook.h`.
pub fn header() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/hook/include")
}

/// A hook library in Rust: an example of the crate.
pub fn rust_hook(name: &str) -> PathBuf {
    static BUILT: OnceLock<()> = OnceLock::new();
    let target = out().parent().expect("out() is a folder in the target folder");
    BUILT.get_or_init(|| {
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["build", "--quiet", "--package", "cutap-hook", "--examples", "--target-dir"]).arg(target);
        let done = finish(cargo.current_dir(env!("CARGO_MANIFEST_DIR")));
        assert!(done.status.success(), "{}", done.stderr);
    });
    target.join(format!("debug/examples/lib{name}.so"))
}

/// A program on the fixture driver.
pub fn fixed(source: &str) -> PathBuf {
    fixed_with(source, &[])
}

/// The same with these libraries too.
pub fn fixed_with(source: &str, libraries: &[&str]) -> PathBuf {
    let folder = out().display().to_string();
    let (cpp, c) =
        (sources().join(format!("hooks/programs/{source}.cpp")), sources().join(format!("hooks/programs/{source}.c")));
    let (compiler, source) = if cpp.exists() { ("g++", cpp) } else { ("gcc", c) };
    let mut gcc = Command::new(compiler);
    gcc.args(["-O1", "-Wall", "-pthread", "-I"]).arg(sources().join("fixtures"));
    let rpath = format!("-Wl,-rpath,{folder},-rpath-link,{folder}");
    let name = format!("{}-fixed", source.file_stem().expect("a file").to_string_lossy());
    let words = [&["-L", &folder, "-l:libcuda.so.1", "-l:libfixture.so", &rpath], libraries].concat();
    compile(gcc, &source, &name, &words)
}

/// A program with a runtime; none if there is no such runtime here.
pub fn with_runtime(source: &str, runtime: Runtime, words: &[&str]) -> Option<PathBuf> {
    let library = runtime.library()?;
    let cpp = sources().join(format!("hooks/programs/{source}.cpp"));
    let kind = if runtime.shared { "shared" } else { "static" };
    let name = format!("{source}{}-{kind}-{}", words.concat().replace(['/', ','], "_"), runtime.version);
    let (compiler, source) = match cpp.exists() {
        true => ("g++", cpp),
        false => ("gcc", sources().join(format!("hooks/programs/{source}.c"))),
    };
    let rpath = format!("-Wl,-rpath,{}", library.parent().expect("a file in a folder").display());
    let mut gcc = Command::new(compiler);
    gcc.args(["-O2", "-w", "-DRUNTIME"]);
    let library = library.display().to_string();
    let rest = [&[library.as_str(), &rpath], words, &["-lpthread", "-ldl", "-lrt"]].concat();
    Some(compile(gcc, &source, &name, &rest))
}

fn compile(mut gcc: Command, source: &Path, name: &str, behind: &[&str]) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let folder = out().join("hooks");
    fs::create_dir_all(&folder).expect("the target folder is writable");
    let temporary = folder.join(format!(".{name}.{}.{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
    let done = finish(gcc.arg("-o").arg(&temporary).arg(source).args(behind));
    assert!(done.status.success(), "{gcc:?}\n{}", done.stderr);
    let place = folder.join(name);
    fs::rename(&temporary, &place).expect("a rename within one folder");
    place
}

/// `cutap WORDS --hook ... -- program`, with these variables.
pub fn under(words: &[&str], hooks: &[&Path], program: &[&str], set: &[(&str, &str)]) -> Finished {
    let mut command = Command::new(cutap());
    command.args(words);
    for hook in hooks {
        command.arg("--hook").arg(hook);
    }
    finish(command.arg("--").args(program).envs(set.iter().copied()))
}

/// What a program prints under these hooks on the simulated driver, with no word of cutap's.
pub fn simulated(hooks: &[&Path], program: &Path, set: &[(&str, &str)]) -> String {
    let run = under(&["run", "--sim"], hooks, &[text(program)], set);
    assert!(run.status.success(), "{program:?}: {run:?}");
    let said: Vec<&str> = run.stderr.lines().filter(|l| !l.contains("on the simulated driver")).collect();
    assert_eq!(said, [""; 0], "{program:?}");
    run.stdout
}

/// A path as text.
pub fn text(path: &Path) -> &str {
    path.to_str().expect("the target folder's path is text")
}

/// The runtimes that are linked in and shared ones.
pub fn runtimes() -> [Runtime; 6] {
    [
        real::linked("11.8"),
        real::linked("12.9"),
        real::linked("13.0"),
        real::linked("13.5"),
        real::shared("12.9"),
        real::shared("13.5"),
    ]
}
