//! `bench reading`: builds what `benches/reading.py` needs and runs it. `bench overhead`: builds what
//! `benches/overhead.py` needs and runs it, on the GPU if there is one, else on the simulated driver. All that measures
//! stands in benches/, so that a machine without cargo can repeat it.

use crate::build::{cargo, output, release, run};
use crate::demo::gpu;
use anyhow::Result;
use std::path::Path;
use std::process::Command;

/// The runtime that is linked in; old enough for every driver since 525.
const RUNTIME: &str = "12.9";

/// `words` go to `overhead.py`.
pub(crate) fn overhead(root: &Path, words: &[&str]) -> Result<()> {
    run(cargo(root).args(["build", "--quiet", "--release", "--package", "cutap"]))?;
    let built = release(root).join("bench");
    let runtime = output(Command::new("python3").arg(root.join("tests/programs/wheels.py")).args(["cudart", RUNTIME]))?;
    run(Command::new(root.join("benches/build.sh")).arg(&built).arg(Path::new(&runtime).join("lib")))?;
    let host = output(Command::new("uname").arg("-n"))?;
    let day = output(Command::new("date").arg("+%F"))?;
    let mut bench = Command::new("python3");
    bench.arg(root.join("benches/overhead.py")).arg("--cutap").arg(release(root).join("cutap"));
    bench.arg("--program").arg(built.join("overhead")).arg("--built").arg(&built);
    bench.arg("--out").arg(root.join(format!("benches/results/overhead-{day}-{host}.md")));
    if !gpu() {
        bench.arg("--sim");
    }
    run(bench.args(words))
}

/// `recording` is a short one, that is made longer; `words` go to `reading.py`.
pub(crate) fn reading(root: &Path, recording: &str, words: &[&str]) -> Result<()> {
    run(cargo(root).args(["build", "--quiet", "--release", "--package", "cutap"]))?;
    let stretch = ["--package", "cutap-trace", "--features", "synthetic", "--example", "stretch"];
    run(cargo(root).args(["build", "--quiet", "--release"]).args(stretch))?;
    let host = output(Command::new("uname").arg("-n"))?;
    let day = output(Command::new("date").arg("+%F"))?;
    let mut bench = Command::new("python3");
    bench.arg(root.join("benches/reading.py")).arg("--cutap").arg(release(root).join("cutap"));
    bench.arg("--stretch").arg(release(root).join("examples/stretch")).arg("--recording").arg(recording);
    bench.arg("--out").arg(root.join(format!("benches/results/reading-{day}-{host}.md")));
    run(bench.args(words))
}
