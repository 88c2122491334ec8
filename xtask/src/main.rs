//! The commands of maintainers and CI: `cargo xtask demo | test | bench | dist | codegen | tidy`. Each command is one
//! file.
//! This file only selects one.

mod bench;
mod build;
mod codegen;
mod demo;
mod dist;
mod engines;
mod fuzz;
mod import;
mod page;
mod test;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask COMMAND
  bench reading RECORDING   report, show and export on 100 million calls made of it: benches/reading.py
  bench overhead     what a call costs, plain and under cutap, CUPTI, nsys: benches/overhead.py
  demo               build all, and trace a real CUDA program: on the GPU if there is one, else simulated
  dist [PROGRAM]     wheel, Debian package and tarball of cutap, and the wheel of cutap-query, in target/dist, of
                     release builds for glibc 2.28; or of this program alone
  test [--large]     all that CI runs; --large adds big downloads
  codegen [--check]  write the generated files from api/; --check only proves them current
  page               join crates/view/page into the template of cutap view; codegen does it too
  fuzz [SECONDS]     the fuzz targets for so long each (600), where cargo-fuzz is installed
  import [FAMILY]... read NVIDIA's headers (fetched from PyPI) and write api/*/{functions,types}.toml
  import --check [FAMILY]...          prove these files current, and compare them with other sources
  import --changes FAMILY FROM TO     what changed between two versions
  import-rm CHECKOUT...               read trees of NVIDIA/open-gpu-kernel-modules and write api/kernel/
  import-rm --check CHECKOUT...       prove api/kernel/ current
  import-nvproxy GIT-FOLDER TAG       read a release of gVisor and write api/kernel/nvproxy.toml
  tidy               the rules that the compiler does not know
  tidy --shrink      lower the numbers of xtask/src/tidy/prose.toml to the present ones";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let root = root();
    let outcome = match words[..] {
        ["demo"] => demo::run_demo(&root),
        ["bench", "reading", recording, ref words @ ..] => bench::reading(&root, recording, words),
        ["bench", "overhead", ref words @ ..] => bench::overhead(&root, words),
        ["dist"] => dist::dist(&root, None),
        ["dist", program] => dist::dist(&root, Some(program)),
        ["test"] => test::run_all(&root, false),
        ["test", "--large"] => test::run_all(&root, true),
        ["fuzz"] => fuzz::run(&root, 600),
        ["fuzz", seconds] if seconds.parse::<u32>().is_ok() => fuzz::run(&root, seconds.parse().unwrap_or(600)),
        ["codegen"] => codegen::run(&root, false, &build::PROGRAM),
        ["codegen", "--check"] => codegen::run(&root, true, &build::PROGRAM),
        ["page"] => page::run(&root),
        ["import", ref words @ ..] => import::run(&root, words),
        ["import-rm", ref words @ ..] => import::run_rm(&root, words),
        ["import-nvproxy", folder, tag] => import::run_nvproxy(&root, folder, tag),
        ["tidy"] => tidy::run(&root),
        ["tidy", "--shrink"] => tidy::shrink(&root),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The repository's root: the folder above this crate.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_owned).unwrap_or_default()
}
